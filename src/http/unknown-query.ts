import type { ExecutionContext } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { Request } from 'express';
import { type Fault, validationFailed } from '../common/problem.js';

/** Whether a handler has a `@Query()` argument, whose parameters `RequestValidationPipe` knows. */
const hasQuery = new WeakMap<object, boolean>();

/** Returns an error for each parameter that an operation does not have: a misspelled filter must not return everything. */
export function unknownParameters(query: object, known: (name: string) => boolean): Fault[] {
  return Object.keys(query)
    .filter((name) => !known(name))
    .map((parameter) => ({ parameter, detail: 'is not a query parameter of this operation' }));
}

/**
 * Refuses every query parameter of an operation that has none. Its handler has no `@Query()` argument to validate.
 *
 * @throws Problem validation_failed.
 */
export function refuseUnexpectedQuery(context: ExecutionContext): void {
  const request = context.switchToHttp().getRequest<Request>();
  if (!request.url.includes('?') || expectsQuery(context)) return;
  const faults = unknownParameters(request.query, () => false);
  if (faults.length > 0) throw validationFailed(faults);
}

function expectsQuery(context: ExecutionContext): boolean {
  const handler = context.getHandler();
  let found = hasQuery.get(handler);
  if (found === undefined) {
    const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), handler.name) ?? {}) as object;
    found = Object.keys(args).some((key) => key.startsWith(`${RouteParamtypes.QUERY}:`));
    hasQuery.set(handler, found);
  }
  return found;
}
