import type { OpenAPIObject } from '@nestjs/swagger';
import { type ProblemCode, problemCodes, type PublishedProblem } from '../common/problem.js';
import { PROBLEMS_EXTENSION } from './api-problems.js';
import { headerReferences } from './response-headers.js';
import { problemExample, problemSchema, problemSchemas } from './problem-schemas.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Documented = Operation & { [PROBLEMS_EXTENSION]?: ProblemCode[] };
type Responses = Operation['responses'];
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
