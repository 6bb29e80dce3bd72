import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Config } from '../config/config.js';
import { networkOf } from '../common/network.js';
import type { AppRequest } from '../http/app-request.js';
import type { Quotas } from './quotas.js';
import { RateLimiter } from './rate-limiter.js';

const QUOTAS = 'quotas';

/**
 * Limits the requests to a route or a controller: per API user, or per network if the route needs no access token.
 * Routes with the same quotas share one count per caller. On a route, it replaces that of the controller.
 */
export function RateLimit(quotas: Quotas): MethodDecorator & ClassDecorator {
  return SetMetadata(QUOTAS, quotas);
}

/** Counts a request under the quotas of its route, if any. Runs after the guard that authenticates the caller. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: Config,
    private readonly limiter: RateLimiter,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const quotas = this.reflector.getAllAndOverride<Quotas | undefined>(QUOTAS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (quotas === undefined) return true;
    const { user, ip } = context.switchToHttp().getRequest<AppRequest>();
    const subject = user === undefined ? ['network', networkOf(ip)] : ['user', user.apiUserId];
    await this.limiter.count(quotas(this.config), ...subject);
    return true;
  }
}
