import type { OpenAPIObject } from '@nestjs/swagger';
import { NEXT_ACTIONS, Problem, type ProblemCode, problemCodes, type PublishedProblem } from '../common/problem.js';
import { PROBLEMS_EXTENSION } from './decorators.js';
import { PROBLEM_EXAMPLES, type Schema } from './problem-examples.js';
import { headerReferences } from './response-headers.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Documented = Operation & { [PROBLEMS_EXTENSION]?: ProblemCode[] };
type Responses = Operation['responses'];
type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Examples = Record<string, { summary: string; value: object }>;
type Response = Extract<NonNullable<Responses[string]>, { description: string }>;

/** Codes that only a request with a token can get. */
const OF_TOKENS: ProblemCode[] = ['missing_token', 'invalid_token'];

/** What every operation can return. */
const COMMON: ProblemCode[] = [
  'malformed_request',
  'malformed_json',
  'validation_failed',
  ...OF_TOKENS,
  'route_not_found',
  'method_not_allowed',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'too_many_requests',
  'headers_too_large',
  'internal_error',
  'unavailable',
];

/**
 * Describes the problems of all operations: what is particular to an operation by status, and what every operation can
 * return in one shared `default` response.
 */
export function describeProblems(document: OpenAPIObject, operations: Operation[]): void {
  document.components = {
    ...document.components,
    schemas: {
      ...document.components?.schemas,
      ...problemSchemas([...COMMON, ...operations.flatMap(problemsOf)]),
      CommonProblem: { ...problemSchema(COMMON), description: 'What every operation can return.' },
    },
    responses: {
      CommonProblem: {
        ...responseOf(COMMON, { $ref: '#/components/schemas/CommonProblem' }),
        description: 'What every operation can return: one example per code',
        headers: commonHeaders(),
      },
    },
  };
  for (const operation of operations) {
    Object.assign(operation.responses, ofOperation(operation), {
      default: { $ref: '#/components/responses/CommonProblem' },
    });
    delete (operation as Partial<Documented>)[PROBLEMS_EXTENSION];
  }
}

function commonHeaders(): Response['headers'] {
  return headerReferences('x-request-id', 'WWW-Authenticate', 'Allow', 'Retry-After', 'RateLimit', 'RateLimit-Policy');
}

function problemsOf(operation: Operation): ProblemCode[] {
  return (operation as Documented)[PROBLEMS_EXTENSION] ?? [];
}

/** A status that is listed on its own hides the default, so it also has the common problems of that status. */
function ofOperation(operation: Operation): Responses {
  const own = problemsOf(operation);
  const needsToken = operation.security?.length !== 0;
  const common = COMMON.filter((code) => needsToken || !OF_TOKENS.includes(code));
  const statuses = new Set(catalogued(own).map(({ status }) => status));
  return Object.fromEntries(
    [...statuses].map((status) => {
      const codes = catalogued([...own, ...common]).flatMap((problem) =>
        problem.status === status ? [problem.code] : [],
      );
      return [status, responseOf(codes)];
    }),
  );
}

function catalogued(codes: ProblemCode[]): PublishedProblem[] {
  return problemCodes().filter(({ code }) => codes.includes(code));
}

function responseOf(codes: ProblemCode[], schema: object = problemSchema(codes)): Response {
  const problems = catalogued(codes);
  const examples = problems.map((problem) => [
    problem.code,
    { summary: problem.title, value: problemExample(problem.code) },
  ]);
  return {
    description: problems.map(({ status, code }) => `${status} \`${code}\``).join(', '),
    content: { 'application/problem+json': { schema, examples: Object.fromEntries(examples) as Examples } },
  };
}

/** Returns the name of the schema of a problem, such as `ExternalIdConflictProblem`. */
function schemaNameOf(code: ProblemCode): string {
  return code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()) + 'Problem';
}

/** Returns a reference to the schema of one problem, or to one of several that differ by their `code`. */
function problemSchema(codes: ProblemCode[]): Schema {
  const references = codes.map((code) => [code, `#/components/schemas/${schemaNameOf(code)}`] as const);
  if (codes.length === 1) return { $ref: references[0]![1] };
  return {
    oneOf: references.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'code', mapping: Object.fromEntries(references) },
  };
}

/** Returns the schemas of problems: one per code, so that a client knows the members of each. */
function problemSchemas(codes: ProblemCode[]): Schemas {
  return {
    ProblemError: {
      type: 'object',
      description: 'An error in one member of the request.',
      properties: {
        pointer: { type: 'string', description: 'JSON Pointer into the request body (RFC 6901).' },
        parameter: { type: 'string', description: 'Name of the query parameter, if the error is in the query.' },
        detail: { type: 'string', description: 'What is expected.' },
      },
      required: ['detail'],
    },
    NextAction: {
      type: 'string',
      enum: [...NEXT_ACTIONS],
      description: 'What to do. If `retryable` is true, first send the same request again.',
    },
    ...Object.fromEntries(catalogued(codes).map((problem) => [schemaNameOf(problem.code), schemaOf(problem)])),
  };
}

/** Returns a complete body, as the service could send it. */
function problemExample(code: ProblemCode): object {
  const { detail, instance = '/orders', errors, errorsAreOptional, extensions = {} } = PROBLEM_EXAMPLES[code];
  const problem = new Problem(code, {
    ...(detail !== undefined && { detail }),
    ...(errors && !errorsAreOptional && { errors }),
    extensions: Object.fromEntries(Object.entries(extensions).map(([member, { example }]) => [member, example])),
  });
  return problem.toBody(instance, 'b7c1f2f4-3c55-4a5e-9b52-6a2a0a3f6f10');
}

function schemaOf({ code, status, title, retryable }: PublishedProblem): Schema {
  const { errors, errorsAreOptional, extensions = {} } = PROBLEM_EXAMPLES[code];
  const members: Record<string, Schema> = {
    type: { type: 'string', enum: [`urn:problem:cashback:${code}`] },
    title: { type: 'string', description: 'Summary of the problem, the same for every occurrence.' },
    status: { type: 'integer', enum: [status], description: 'HTTP status code.' },
    detail: { type: 'string', description: 'Explanation of this occurrence.' },
    instance: { type: 'string', description: 'The path of the request.' },
    code: { type: 'string', enum: [code], description: 'Stable identifier of the problem, for programs.' },
    request_id: { type: 'string', description: 'ID of the request, as in `x-request-id` and in the logs.' },
    retryable: { type: 'boolean', enum: [retryable], description: 'Whether the same request may succeed later.' },
    next_action: { $ref: '#/components/schemas/NextAction' },
    ...extensions,
  };
  const list: Schema = {
    type: 'array',
    items: { $ref: '#/components/schemas/ProblemError' },
    description: 'All errors of the request.',
  };
  return {
    type: 'object',
    description: `${title}. (RFC 9457)`,
    properties: { ...members, ...(errors && { errors: list }) },
    required: [...Object.keys(members), ...(errors && !errorsAreOptional ? ['errors'] : [])],
  };
}
