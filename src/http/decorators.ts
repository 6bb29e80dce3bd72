import { createParamDecorator, type ExecutionContext, Param, type PipeTransform, SetMetadata } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import type { Caller } from '../common/caller.js';
import { notFound } from '../common/problem.js';
import type { AppRequest } from './app-request.js';

export const IS_PUBLIC = 'isPublic';

export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(IS_PUBLIC, true);

/** The caller of a guarded route. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext) => callerOf(context));

/** The merchant of the caller of a guarded route. */
export const MerchantId = createParamDecorator((_: unknown, context: ExecutionContext) => callerOf(context).merchantId);

function callerOf(context: ExecutionContext): Caller {
  const { user } = context.switchToHttp().getRequest<AppRequest>();
  if (user === undefined) throw new Error('a public route has no caller');
  return user;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An ID that is not a UUID can't exist, so it needs no lookup. */
const uuidOrNotFound: PipeTransform<string, string> = {
  transform(value, { data }) {
    const id = value.toLowerCase();
    if (!UUID.test(id)) throw notFound(`the ${data} in the path must be the UUID that the service gave it`);
    return id;
  },
};

/**
 * The `{id}` of a path, or another ID by its name. Anything but a UUID is a 404.
 *
 * @param description for the OpenAPI document.
 */
export const IdParam = (description: string, name = 'id'): ParameterDecorator =>
  documented(Param(name, uuidOrNotFound), ApiParam({ name, description, schema: { type: 'string', format: 'uuid' } }));

/** Returns a decorator of a parameter that also documents it in the parameter's operation. */
export function documented(parameter: ParameterDecorator, operation: MethodDecorator): ParameterDecorator {
  return (target, method = '', index) => {
    parameter(target, method, index);
    operation(target, method, Object.getOwnPropertyDescriptor(target, method) ?? {});
  };
}
