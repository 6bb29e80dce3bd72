import type { ExecutionContext } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { type Fault, validationFailed } from '../common/problem.js';
import type { AppRequest } from './app-request.js';
import { memberFault, noteUnknownMembers, parameterFault, type UnknownMember } from './unknown-members.js';

/** Nest keeps the arguments of a handler by keys that start with their kind, such as `3:0` for a body. */
function hasArgument(context: ExecutionContext, kind: RouteParamtypes): boolean {
  const handler = context.getHandler().name;
  const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), handler) ?? {}) as object;
  return Object.keys(args).some((key) => key.startsWith(`${kind}:`));
}

/**
 * Refuses parameters that cannot be decoded, and every parameter of an operation that has none: its handler has no
 * `@Query()` argument, which `RequestValidationPipe` would validate.
 *
 * @throws Problem validation_failed.
 */
export function refuseUnexpectedQuery(context: ExecutionContext): void {
  const request = context.switchToHttp().getRequest<AppRequest>();
  if (!request.url.includes('?')) return;
  const faults = undecodableParameters(request.url);
  if (!hasArgument(context, RouteParamtypes.QUERY))
    faults.push(...Object.keys(request.query).map((name) => parameterFault({ name, known: [] })));
  if (faults.length > 0) throw validationFailed(faults);
}

/**
 * Refuses a body with members for an operation that has none: `{"amount":"10.00"}` must not void a whole grant.
 *
 * @throws Problem validation_failed.
 */
export function refuseUnexpectedBody(context: ExecutionContext): void {
  const body: unknown = context.switchToHttp().getRequest<AppRequest>().body;
  if (body === undefined || hasArgument(context, RouteParamtypes.BODY)) return;
  const unknown: UnknownMember[] = [];
  noteUnknownMembers(Object(body) as object, new Map(), '', unknown);
  if (unknown.length > 0) throw validationFailed(unknown.map(memberFault));
}

/** Node would replace invalid bytes by U+FFFD, so that a different value would be compared. */
function undecodableParameters(url: string): Fault[] {
  return url
    .slice(url.indexOf('?') + 1)
    .split('&')
    .filter((pair) => pair.includes('%') && !isDecodable(pair))
    .map((pair) => ({ parameter: pair.split('=')[0] ?? '', detail: 'must be percent-encoded UTF-8' }));
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
