import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { Config } from '../config/config.js';
import type { Caller } from '../common/caller.js';
import { networkOf } from '../common/network.js';
import type { RateLimitPolicies } from './policies.js';
import { RateLimiter } from './rate-limiter.js';

const POLICIES = 'rateLimitPolicies';

/**
 * Limits the requests to a route or a controller: per API user, or per network if the route needs no access token.
 * Routes with the same policies share one count per caller. On a route, it replaces that of the controller.
 */
export function RateLimit(policies: RateLimitPolicies): MethodDecorator & ClassDecorator {
  return SetMetadata(POLICIES, policies);
}

/**
 * Counts a request under the policies of its route, if it has any. Runs after the guard that authenticates the caller.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: Config,
    private readonly limiter: RateLimiter,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const policies = this.reflector.getAllAndOverride<RateLimitPolicies | undefined>(POLICIES, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (policies === undefined) return true;
    const { user, ip } = context.switchToHttp().getRequest<Request & { user?: Caller }>();
    const subject = user === undefined ? ['network', networkOf(ip)] : ['user', user.apiUserId];
    await this.limiter.count(policies(this.config), ...subject);
    return true;
  }
}
