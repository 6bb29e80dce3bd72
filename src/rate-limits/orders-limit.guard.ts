import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Caller } from '../http/caller.js';
import { Config } from '../config/config.js';
import { LeasedLimiter } from './lease.js';
import { ordersBurstPolicy, ordersPolicy, type RateLimitPolicy } from './policies.js';
import { RateLimitStore } from './store.js';
import { tooManyRequests, type UsedUp } from './too-many-requests.js';

/**
 * Limits the requests of each API user. A request that the second has no room for is taken out of the
 * minute's burst; when that is used up too, it is refused.
 *
 * It belongs on a controller: guards of controllers run after the global one, which finds out who calls.
 */
@Injectable()
export class OrdersLimitGuard implements CanActivate {
  /** In the order in which they are asked; none where the limit is off. */
  readonly #limits: { policy: RateLimitPolicy; limiter: LeasedLimiter }[];

  constructor(
    config: Config,
    private readonly store: RateLimitStore,
  ) {
    const policies = config.RATE_LIMIT === 0 ? [] : [ordersPolicy(config), ordersBurstPolicy(config)];
    this.#limits = policies.map((policy) => ({ policy, limiter: new LeasedLimiter(store.limiterOf(policy)) }));
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.#limits.length === 0) return true;
    const { user } = context.switchToHttp().getRequest<Request & { user?: Caller }>();
    if (user === undefined) throw new Error('OrdersLimitGuard on a public route');
    const usedUp: UsedUp[] = [];
    for (const { policy, limiter } of this.#limits) {
      const msBeforeNext = await limiter.take(this.store.keyOf(policy, user.apiUserId));
      if (msBeforeNext === undefined) return true;
      usedUp.push({ policy, msBeforeNext });
    }
    throw tooManyRequests(usedUp);
  }
}
