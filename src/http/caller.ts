import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { Request } from 'express';
import type { Policy } from '../merchants/policy.js';

/** Who calls: what the JWT behind the access token says, and on what terms. */
export interface Caller {
  apiUserId: string;
  merchantId: string;
  /** The token set's id, the `jti`. */
  tokenSetId: string;
  /** The merchant's rules as of this request: they come with the token's look-up, which every request needs. */
  policy: Policy;
}

export const IS_PUBLIC = 'isPublic';

/** Opens a route: without it the guard asks for an access token. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(IS_PUBLIC, true);

/** The caller of a guarded route. */
export const CurrentCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { user } = context.switchToHttp().getRequest<Request & { user?: Caller }>();
  if (user === undefined) throw new Error('CurrentCaller on a public route');
  return user;
});
