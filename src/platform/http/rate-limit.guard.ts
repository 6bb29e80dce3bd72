import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Config } from '../config/config.js';
import { networkOf } from '../config/network.js';
import { type AppRequest } from './app-request.js';
import { MAX_BYTES, SAFE_METHODS } from './body.js';
import { type Quotas, SANDBOX_STORAGE, RateLimiter } from '../rate-limits/rate-limiter.js';

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
    const { user, ip, method, headers } = context.switchToHttp().getRequest<AppRequest>();
    const network = ['network', networkOf(ip)];
    await this.limiter.count(quotas(this.config), user === undefined ? network : ['user', user.apiUserId]);
    // RFC 9112, section 6.3: without either header there is no body.
    const unknown = headers['transfer-encoding'] === undefined ? 0 : MAX_BYTES;
    const bytes = Number(headers['content-length'] ?? unknown);
    // A body that is too large is not read.
    if (SAFE_METHODS.includes(method) || bytes > MAX_BYTES) return true;
    await this.limiter.count(SANDBOX_STORAGE(this.config), network, Math.ceil(bytes / 1024) || 1);
    return true;
  }
}
