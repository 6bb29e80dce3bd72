import {
  type ArgumentMetadata,
  type ExecutionContext,
  Injectable,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { validateSync, type ValidationError } from 'class-validator';
import { type Fault, validationFailed } from '../values/problem.js';
import { type AppRequest } from './app-request.js';
import { memberFault, noteUnknownMembers, parameterFault, toDto, type UnknownMember } from './to-dto.js';

/**
 * Turns bodies and queries into DTOs. A member or parameter that the DTO does not declare is an error. All errors are
 * reported together, each with a JSON Pointer into the body or the name of the query parameter.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform<unknown, unknown> {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if ((type !== 'body' && type !== 'query') || metatype === undefined) return value;
    // A missing body is treated as an object without members. `null` is a body, but not an object.
    return readDto(metatype as Type<object>, value === undefined ? {} : value, type);
  }
}

/** Turns a value into a DTO. @throws Problem validation_failed, with all errors. */
export function readDto<T extends object>(metatype: Type<T>, value: unknown, place: 'body' | 'query' = 'body'): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw validationFailed([{ pointer: '', detail: 'must be an object' }]);
  const unknown: UnknownMember[] = [];
  const dto = toDto(metatype, value, { pointer: '', unknown });
  const faults = faultsOf(validateSync(dto, { stopAtFirstError: true }), place);
  faults.push(...unknown.map(place === 'body' ? memberFault : parameterFault));
  if (faults.length > 0) throw validationFailed(faults);
  return dto;
}

function faultsOf(errors: ValidationError[], place: 'body' | 'query', parent = ''): Fault[] {
  return errors.flatMap((error) => {
    const path = `${parent}/${error.property}`;
    const at = place === 'body' ? { pointer: path } : { parameter: error.property };
    const details = Object.values(error.constraints ?? {});
    const isMissing = error.value === undefined || error.value === null;
    const own = (isMissing ? ['is required'] : details).map((detail) => ({ ...at, detail }));
    return [...own, ...faultsOf(error.children ?? [], place, path)];
  });
}

/** Nest keeps the arguments of a handler by keys that start with their kind, such as `3:0` for a body. */
function hasArgument(context: ExecutionContext, kind: RouteParamtypes): boolean {
  const handler = context.getHandler().name;
  const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), handler) ?? {}) as object;
  return Object.keys(args).some((key) => key.startsWith(`${kind}:`));
}

/**
 * Refuses parameters that cannot be decoded, and every parameter of an operation that has none. Nest calls pipes only
 * for arguments of the handler, and this one has no `@Query()`.
 */
export function refuseUnexpectedQuery(context: ExecutionContext): void {
  const request = context.switchToHttp().getRequest<AppRequest>();
  if (!request.url.includes('?')) return;
  const faults = undecodableParameters(request.url);
  if (!hasArgument(context, RouteParamtypes.QUERY))
    faults.push(...Object.keys(request.query).map((name) => parameterFault({ name, known: [] })));
  if (faults.length > 0) throw validationFailed(faults);
}

/** An operation without a body refuses members: `{"amount":"10.00"}` must not void a whole grant. */
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
