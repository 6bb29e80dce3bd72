import type { Type } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtension, ApiProperty, type OpenAPIObject } from '@nestjs/swagger';
import { AMOUNT_PATTERN } from '../common/money.js';
import type { ProblemCode } from '../common/problem.js';
import { headerReferences } from './response-headers.js';

type NestOperation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type NestSchema = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string];

/** A schema, with the names of `InOrder` until its members are sorted. OpenAPI 3.1 allows members beside a `$ref`. */
export type Schema = Extract<NestSchema, { type?: unknown }> & { $ref?: string; 'x-order'?: string[] };

/** An operation, with the codes of `ApiProblems` until its problems are described. */
export type Operation = NestOperation & { 'x-problems'?: ProblemCode[] };

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

/** Documents an amount in BRL of a response; `signed` if it can be negative. */
export function ApiMoney({ signed = false } = {}): PropertyDecorator {
  return ApiProperty({ type: String, pattern: AMOUNT_PATTERN.source.replace('^', signed ? '^-?' : '^') });
}

export function ApiId({ nullable = false } = {}): PropertyDecorator {
  return ApiProperty({ type: String, format: 'uuid', ...(nullable && { nullable }) });
}

/**
 * Documents the members of a DTO in the order of their declaration, as they are sent. On its own, Nest lists inherited
 * members and those with decorators first.
 *
 * @param first the members that come before all others.
 */
export function InOrder(...first: string[]): (type: Type<object>) => void {
  return (type) => {
    const members = Object.keys(new type());
    ApiExtension('x-order' satisfies keyof Schema, [...first, ...members])(type);
  };
}
