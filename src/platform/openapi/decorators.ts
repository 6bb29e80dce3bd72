import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiExtension,
  ApiExtraModels,
  ApiProperty,
  type ApiResponseOptions,
  type OpenAPIObject,
} from '@nestjs/swagger';
import { AMOUNT_PATTERN } from '../values/money.js';
import { type ProblemCode } from '../values/problem.js';

type NestOperation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Headers = NonNullable<ApiResponseOptions['headers']>;
type NestSchema = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string];

/**
 * A schema, with the names of `InOrder` until its members are sorted, and with those of `DataOfTypes`. OpenAPI 3.1
 * allows members beside a `$ref`, and `const`, which the types of Nest do not have.
 */
export type Schema = Extract<NestSchema, { type?: unknown }> & {
  $ref?: string;
  const?: unknown;
  'x-order'?: string[];
  'x-data'?: Record<string, string>;
};

/** An operation, with the codes of `ApiProblems` until its problems are described, and whether it `Replays`. */
export type Operation = NestOperation & { 'x-problems'?: ProblemCode[]; 'x-replays'?: true };

/** The header fields of responses, for the OpenAPI document. */
export const RESPONSE_HEADERS = {
  'x-request-id': {
    description:
      'ID of the request: the one that you sent if it has 1 to 128 letters, digits, `.`, `_` or `-`, otherwise a new UUID',
    schema: { type: 'string', example: 'b7c1f2f4-3c55-4a5e-9b52-6a2a0a3f6f10' },
  },
  Link: {
    description: 'With CSV: where the next file of the list begins, if more follows (RFC 8288)',
    schema: { type: 'string', example: '<?csv=pt-BR&cursor=WyJvcmRlcnMiXQ>; rel="next"' },
  },
  Location: {
    description: 'Path of the created resource',
    schema: { type: 'string', format: 'uri-reference', example: '/orders/0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10' },
  },
  'Idempotency-Replayed': {
    description: '`true` if this response is a replay of an earlier one',
    schema: { type: 'string', const: 'true' },
  },
  'WWW-Authenticate': {
    description: 'With 401: how to authenticate (RFC 6750)',
    schema: { type: 'string', example: 'Bearer realm="cashback"' },
  },
  Allow: { description: 'With 405: the methods of the path', schema: { type: 'string', example: 'GET, HEAD, POST' } },
  'Retry-After': {
    description: 'With 429 and 503: seconds to wait before you send the request again',
    schema: { type: 'integer', minimum: 1, example: 1 },
  },
  RateLimit: {
    description: 'With 429: the limits that are used up, and the seconds until each is available again',
    schema: { type: 'string', example: '"requests";r=0;t=1' },
  },
  'RateLimit-Policy': {
    description: 'With 429: the quota and the window of those limits in seconds',
    schema: { type: 'string', example: '"requests";q=100;w=1' },
  },
} satisfies Record<string, { description: string; schema: Schema }>;

export function headerReferences(...names: (keyof typeof RESPONSE_HEADERS)[]): Headers {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/**
 * Documents the problems that are particular to an operation. The problems that every operation can return are in its
 * `default` response without being named here.
 */
export function ApiProblems(...codes: ProblemCode[]): MethodDecorator {
  return ApiExtension('x-problems' satisfies keyof Operation, codes);
}

/** For an operation that lists, searches or calculates: only the request can be wrong. */
ApiProblems.query = (...codes: ProblemCode[]): MethodDecorator => ApiProblems('validation_failed', ...codes);

/** For an operation that reads one resource by its ID. */
ApiProblems.read = (...codes: ProblemCode[]): MethodDecorator => ApiProblems('not_found', ...codes);

/** For an operation that creates a resource with the caller's `external_id`. */
ApiProblems.create = (...codes: ProblemCode[]): MethodDecorator => ApiProblems('external_id_conflict', ...codes);

/** For an operation that changes a resource whose status may not allow it. */
ApiProblems.write = (...codes: ProblemCode[]): MethodDecorator =>
  ApiProblems('not_found', 'invalid_transition', ...codes);

/** Documents the 201 of an operation that is idempotent by its `external_id`. */
export function ApiCreated(type: Type, description: string): MethodDecorator {
  return ApiCreatedResponse({ type, description, headers: headerReferences('Location', 'Idempotency-Replayed') });
}

/** Documents that the response of a change says if it changed nothing. */
export const ApiReplays = (): MethodDecorator => ApiExtension('x-replays' satisfies keyof Operation, true);

/** Documents an amount in BRL of a response; `signed` if it can be negative. */
export function ApiMoney({ signed = false, required = true, nullable = false } = {}): PropertyDecorator {
  const pattern = AMOUNT_PATTERN.source.replace('^', signed ? '^-?' : '^');
  return ApiProperty({ type: String, pattern, required, ...(nullable && { nullable }) });
}

export function ApiId({ nullable = false, required = true } = {}): PropertyDecorator {
  return ApiProperty({ type: String, format: 'uuid', required, ...(nullable && { nullable }) });
}

/** Documents which DTO is the `data` of each `type` of a DTO. */
export function DataOfTypes(types: Record<string, Type>): ClassDecorator {
  const names = Object.entries(types).map(([type, { name }]) => [type, name] as const);
  const extension = ApiExtension('x-data' satisfies keyof Schema, Object.fromEntries(names)) as ClassDecorator;
  return applyDecorators(ApiExtraModels(...new Set(Object.values(types))), extension);
}

/**
 * Documents the members of a DTO in the order of their declaration, as they are sent. On its own, Nest lists inherited
 * members and those with decorators first. A class whose parent has it keeps the order of the parent.
 *
 * @param first the members that come before all others, or the class that a mapped type such as `PartialType` is from.
 */
export function InOrder(...first: (string | Type<object>)[]): (type: Type<object>) => void {
  return (type) => {
    const members = [...first, type].flatMap((name) => (typeof name === 'string' ? name : Object.keys(new name())));
    ApiExtension('x-order' satisfies keyof Schema, members)(type);
  };
}
