import type { OpenAPIObject } from '@nestjs/swagger';
import { NEXT_ACTIONS, Problem, type ProblemCode, problemCodes, type PublishedProblem } from '../common/problem.js';
import { PROBLEM_EXAMPLES } from './problem-examples.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Extract<Schemas[string], { type?: unknown }>;

const SUFFIX = 'Problem';

/** Returns the name of the schema of a problem, such as `ExternalIdConflictProblem`. */
export function schemaNameOf(code: ProblemCode): string {
  return code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()) + SUFFIX;
}

/** Returns a reference to the schema of one problem, or to one of several that differ by their `code`. */
export function problemSchema(codes: ProblemCode[]): Schema {
  const references = codes.map((code) => [code, `#/components/schemas/${schemaNameOf(code)}`] as const);
  if (references.length === 1) return { $ref: references[0]?.[1] } as Schema;
  return {
    oneOf: references.map(([, $ref]) => ({ $ref })),
    discriminator: { propertyName: 'code', mapping: Object.fromEntries(references) },
  };
}

/** Returns the schemas of problems: one per code, so that a client knows the members of each. */
export function problemSchemas(codes: ProblemCode[]): Schemas {
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
    ...Object.fromEntries(
      problemCodes()
        .filter(({ code }) => codes.includes(code))
        .map((problem) => [schemaNameOf(problem.code), schemaOf(problem)]),
    ),
  };
}

/** Returns a complete body, as the service could send it. */
export function problemExample(code: ProblemCode): object {
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
    next_action: { $ref: '#/components/schemas/NextAction' } as Schema,
    ...(extensions as Record<string, Schema>),
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
