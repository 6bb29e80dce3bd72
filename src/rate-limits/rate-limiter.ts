import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { Metrics } from '../metrics/metrics.js';
import { CounterKeys } from './counter-keys.js';
import type { RateLimitPolicy } from './policies.js';
import { tooManyRequests, type UsedUp } from './too-many-requests.js';

const REDIS_PREFIX = 'cashback:rate-limits';
/** A Redis that is unreachable fails with every request: one log line per minute is enough. */
const COMPLAIN_EVERY_MS = 60_000;

/**
 * Counts requests: in this process's memory, or in Redis for all instances together. While Redis is unreachable each
 * instance counts for itself: no request fails because of a counter.
 *
 * Windows in memory end by a timer, and those in Redis by its own clock, so a step of the system's clock prolongs none.
 */
@Injectable()
export class RateLimiter implements OnApplicationShutdown {
  readonly #log = new Logger('RateLimits');
  readonly #limiters = new Map<string, RateLimiterAbstract>();
  #complainedAt = -COMPLAIN_EVERY_MS;

  constructor(
    private readonly keys: CounterKeys,
    private readonly metrics: Metrics,
    private readonly redis: Redis | undefined,
  ) {
    // ioredis connects again by itself; without a listener its errors would be written to stderr.
    redis?.on('error', (error: Error) => this.#complain(error));
  }

  /**
   * Counts one request under the first policy that has room for it.
   *
   * @param policies in the order in which they are used up; with none, nothing is limited.
   * @param subject who or what is counted, such as an API user.
   * @throws Problem too_many_requests where all policies are used up.
   */
  async count(policies: RateLimitPolicy[], ...subject: string[]): Promise<void> {
    const usedUp: UsedUp[] = [];
    for (const policy of policies) {
      try {
        await this.#limiterOf(policy).consume(this.keys.of(policy, ...subject));
        return;
      } catch (error) {
        // The library throws its result when it refuses.
        if (!(error instanceof RateLimiterRes)) throw error;
        usedUp.push({ policy, msBeforeNext: error.msBeforeNext });
      }
    }
    if (usedUp.length > 0) throw tooManyRequests(usedUp);
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }

  #limiterOf(policy: RateLimitPolicy): RateLimiterAbstract {
    const existing = this.#limiters.get(policy.name);
    if (existing) return existing;
    const options = { points: policy.quota, duration: policy.windowSeconds, keyPrefix: REDIS_PREFIX };
    const memory = new RateLimiterMemory(options);
    const limiter = this.redis
      ? new RateLimiterRedis({
          ...options,
          storeClient: this.redis,
          insuranceLimiter: memory,
          rejectIfRedisNotReady: true,
        })
      : memory;
    this.#limiters.set(policy.name, limiter);
    return limiter;
  }

  #complain(error: Error): void {
    this.metrics.rateLimitStoreFailed();
    if (performance.now() - this.#complainedAt < COMPLAIN_EVERY_MS) return;
    this.#complainedAt = performance.now();
    // The message alone: the error of a refused AUTH carries the password.
    this.#log.warn(
      { event: 'rate_limit_store_unavailable', reason: error.message },
      'each instance counts for itself until Redis is back',
    );
  }
}
