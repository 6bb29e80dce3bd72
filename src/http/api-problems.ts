import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ProblemDto } from './problem.dto.js';
import { type ProblemCode, problemCodes, type PublishedProblem } from '../common/problem.js';

/** The problems that every operation can return. */
const EVERYWHERE: ProblemCode[] = ['internal_error', 'unavailable'];

/** Documents the problems that an operation can return: one response per status, with its codes as examples. */
export function ApiProblems(...codes: ProblemCode[]): MethodDecorator & ClassDecorator {
  const wanted = problemCodes().filter(({ code }) => codes.includes(code) || EVERYWHERE.includes(code));
  const statuses = [...new Set(wanted.map(({ status }) => status))];
  const byStatus = statuses.map((status) => ({
    status,
    problems: wanted.filter((problem) => problem.status === status),
  }));
  return applyDecorators(
    ApiExtraModels(ProblemDto),
    ...byStatus.map(({ status, problems }) =>
      ApiResponse({
        status,
        description: problems.map(({ code, title }) => `\`${code}\`: ${title}`).join('\n\n'),
        content: {
          'application/problem+json': {
            schema: { $ref: getSchemaPath(ProblemDto) },
            examples: Object.fromEntries(
              problems.map((problem) => [problem.code, { summary: problem.title, value: example(problem) }]),
            ),
          },
        },
      }),
    ),
  );
}

function example({ code, status, title, retryable }: PublishedProblem): Record<string, unknown> {
  return {
    type: `urn:problem:cashback:${code}`,
    title,
    status,
    detail: title,
    instance: '/orders',
    code,
    request_id: 'b7c1f2f4-3c55-4a5e-9b52-6a2a0a3f6f10',
    retryable,
    ...(code === 'validation_failed' && {
      errors: [{ pointer: '/items/0/price', detail: 'must be a decimal string such as "49.90"' }],
    }),
  };
}
