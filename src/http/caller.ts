import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { Request } from 'express';
import type { Caller } from '../common/caller.js';

export const IS_PUBLIC = 'isPublic';

/** Marks a route that needs no access token. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(IS_PUBLIC, true);

/** The caller of a guarded route. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext) => callerOf(context));

/** The merchant of the caller of a guarded route. */
export const MerchantId = createParamDecorator((_: unknown, context: ExecutionContext) => callerOf(context).merchantId);

function callerOf(context: ExecutionContext): Caller {
  const { user } = context.switchToHttp().getRequest<Request & { user?: Caller }>();
  if (user === undefined) throw new Error('a public route has no caller');
  return user;
}
