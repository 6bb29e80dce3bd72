import { Injectable } from '@nestjs/common';
import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { REFRESH_POLICY } from './policies.js';
import { RateLimitStore } from './store.js';
import { tooManyRequests } from './too-many-requests.js';

/** Counts the renewals of each session. */
@Injectable()
export class RefreshLimit {
  readonly #limiter: RateLimiterAbstract;

  constructor(private readonly store: RateLimitStore) {
    this.#limiter = store.limiterOf(REFRESH_POLICY);
  }

  /** @throws Problem too_many_requests. */
  async count(sessionId: string): Promise<void> {
    try {
      await this.#limiter.consume(this.store.keyOf(REFRESH_POLICY, sessionId));
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      throw tooManyRequests([{ policy: REFRESH_POLICY, msBeforeNext: error.msBeforeNext }]);
    }
  }
}
