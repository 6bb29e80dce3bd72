import type { ExecutionContext } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';

/** The kinds of arguments of each handler: the keys of its metadata start with the kind. */
const kinds = new WeakMap<object, Set<string | undefined>>();

/** Returns whether the handler has a `@Query()` argument, whose parameters `RequestValidationPipe` knows. */
export const takesQuery = (context: ExecutionContext): boolean => hasArgument(context, RouteParamtypes.QUERY);

/** Returns whether the handler has a `@Body()` argument. */
export const takesBody = (context: ExecutionContext): boolean => hasArgument(context, RouteParamtypes.BODY);

function hasArgument(context: ExecutionContext, kind: RouteParamtypes): boolean {
  const handler = context.getHandler();
  let found = kinds.get(handler);
  if (found === undefined) {
    const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), handler.name) ?? {}) as object;
    found = new Set(Object.keys(args).map((key) => key.split(':')[0]));
    kinds.set(handler, found);
  }
  return found.has(String(kind));
}
