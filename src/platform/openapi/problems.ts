import { type OpenAPIObject } from '@nestjs/swagger';
import { entryOf, NEXT_ACTIONS, Problem, type ProblemCode, PROBLEMS } from '../values/problem.js';
import { headerReferences, type Operation, type Schema } from './decorators.js';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** What every operation can return. */
const COMMON: ProblemCode[] = [
  'malformed_request',
  'malformed_json',
  'validation_failed',
  'missing_token',
  'invalid_token',
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
 * return in one shared `default` response. All are a `Problem`, so that a client handles them in one function.
 */
export function describeProblems({ components = {} }: OpenAPIObject, operations: Operation[]): void {
  // A live service has no operation with the problems of a sandbox.
  const possible = CODES.filter(
    (code) => COMMON.includes(code) || operations.some((operation) => operation['x-problems']?.includes(code)),
  );
  components.schemas = { ...components.schemas, ...problemSchemas(possible) };
  components.responses = {
    CommonProblem: {
      ...responseOf(COMMON, { $ref: '#/components/schemas/Problem' }),
      description: 'What every operation can return: one example per code',
      headers: headerReferences(
        ...(['x-request-id', 'WWW-Authenticate', 'Allow', 'Retry-After', 'RateLimit', 'RateLimit-Policy'] as const),
      ),
    },
  };
  for (const operation of operations) {
    const own = CODES.filter((code) => operation['x-problems']?.includes(code));
    delete operation['x-problems'];
    for (const status of own.map((code) => PROBLEMS[code].status))
      operation.responses[status] = responseOf(
        CODES.filter((code) => PROBLEMS[code].status === status && (own.includes(code) || COMMON.includes(code))),
      );
    // Not `4XX` and `5XX`: from such a range, oazapfts generates a type that is a syntax error (`status: 4XX`).
    operation.responses['default'] = { $ref: '#/components/responses/CommonProblem' };
  }
}

function responseOf(codes: ProblemCode[], schema: Schema | { $ref: string } = schemaOfAny(codes)) {
  const examples = codes.map((code) => [code, { summary: code, value: exampleOf(code) }] as const);
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('\n\n'),
    content: {
      'application/problem+json': {
        schema,
        examples: Object.fromEntries(examples),
      },
    },
  };
}

function exampleOf(code: ProblemCode): object {
  const { members = {}, example: { instance = '/orders', detail } = {} } = entryOf(code);
  const fields = Object.fromEntries(Object.entries(members).map(([name, { example }]) => [name, example]));
  const problem = new Problem(...([code, { ...fields, detail }] as ConstructorParameters<typeof Problem>));
  return problem.toBody(instance, 'b7c1f2f4-3c55-4a5e-9b52-6a2a0a3f6f10');
}

/** Returns the schema of all problems, and one per code, such as `ExternalIdConflictProblem`, with its members. */
function problemSchemas(codes: readonly ProblemCode[]): Record<string, Schema> {
  return {
    Problem: {
      description: 'An error (RFC 9457). Its `code` says which one, and which members it has.',
      ...schemaOfAny(codes),
    },
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
    ...Object.fromEntries(codes.map((code) => [nameOf(code), schemaOf(code)])),
  };
}

const nameOf = (code: ProblemCode): string =>
  code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()) + 'Problem';

/** Returns the schema of one of these problems. */
function schemaOfAny(codes: readonly ProblemCode[]): Schema & { $ref?: string } {
  const references = codes.map((code) => [code, `#/components/schemas/${nameOf(code)}`] as const);
  const [only] = references;
  if (only !== undefined && references.length === 1) return { $ref: only[1] };
  return {
    oneOf: references.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'code', mapping: Object.fromEntries(references) },
  };
}

function schemaOf(code: ProblemCode): Schema {
  const { status, title, retryable, members = {} } = entryOf(code);
  const { errors, ...extensions } = members;
  const properties: Record<string, Schema> = {
    type: { type: 'string', const: `urn:problem:cashback:${code}` },
    title: { type: 'string', description: 'Summary of the problem, the same for every occurrence.' },
    status: { type: 'integer', const: status, description: 'HTTP status code.' },
    detail: { type: 'string', description: 'Explanation of this occurrence.' },
    instance: { type: 'string', description: 'The path of the request.' },
    code: { type: 'string', const: code, description: 'Stable identifier of the problem, for programs.' },
    request_id: { type: 'string', description: 'ID of the request, as in `x-request-id` and in the logs.' },
    retryable: { type: 'boolean', const: retryable, description: 'Whether the same request may succeed later.' },
    next_action: { $ref: '#/components/schemas/NextAction' },
    ...extensions,
    ...(errors && {
      errors: {
        type: 'array',
        items: { $ref: '#/components/schemas/ProblemError' },
        description: 'All errors of the request.',
      },
    }),
  };
  const required = Object.keys(properties).filter((name) => name !== 'errors' || errors?.example !== undefined);
  return { type: 'object', description: `${title}. (RFC 9457)`, properties, required };
}
