import type { Type } from '@nestjs/common';
import { ApiCreatedResponse, ApiExtension } from '@nestjs/swagger';
import type { ProblemCode } from '../common/problem.js';
import { headerReferences } from './response-headers.js';

/** Where an operation keeps its problems until `describeProblems` turns them into responses. */
export const PROBLEMS_EXTENSION = 'x-problems';

/**
 * Documents the problems that are particular to an operation. The problems that every operation can return are in its
 * `default` response without being named here.
 */
export function ApiProblems(...codes: ProblemCode[]): MethodDecorator {
  return ApiExtension(PROBLEMS_EXTENSION, codes);
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
