import type { KeyObject } from 'node:crypto';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Subject } from 'rxjs';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../config/config.js';
import { counterKey, counterSecrets, type Quota, tooManyRequests, type UsedUp } from './quotas.js';

const REDIS_PREFIX = 'cashback:rate-limits';
/** While Redis is unreachable, every request fails to use it. One log line per minute is enough. */
const LOG_INTERVAL_MS = 60_000;

/**
 * Counts requests in this process's memory, or in Redis for all instances together. While Redis is unreachable, each
 * instance counts its own requests, so no request fails because of the counter.
 *
 * Windows in memory end by a timer, and those in Redis by its own clock, so a change of the system clock extends none.
 */
@Injectable()
export class RateLimiter implements OnApplicationShutdown {
  readonly #log = new Logger('RateLimits');
  readonly #limiters = new Map<string, RateLimiterAbstract>();
  readonly #secret: KeyObject;
  #loggedAt = -LOG_INTERVAL_MS;

  readonly storeFailures = new Subject<Error>();

  constructor(
    config: Config,
    private readonly redis: Redis | undefined,
  ) {
    this.#secret = counterSecrets(config)[0];
    // ioredis reconnects by itself. Without a listener, its errors would be written to stderr.
    redis?.on('error', (error: Error) => this.#logFailure(error));
  }

  /**
   * Counts one request under the first quota that is not used up.
   *
   * @param quotas in the order in which they are used up; without any, nothing is limited.
   * @param points how much it counts.
   * @throws Problem too_many_requests if all quotas are used up.
   */
  async count(quotas: Quota[], subject: string[], points = 1): Promise<void> {
    const usedUp: UsedUp[] = [];
    for (const quota of quotas) {
      try {
        await this.#limiterOf(quota).consume(counterKey(this.#secret, quota, subject), points);
        return;
      } catch (error) {
        // For a refusal, the library throws its result.
        if (!(error instanceof RateLimiterRes)) throw error;
        usedUp.push({ quota, msLeft: error.msBeforeNext });
      }
    }
    if (usedUp.length > 0) throw tooManyRequests(usedUp);
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }

  #limiterOf(quota: Quota): RateLimiterAbstract {
    const existing = this.#limiters.get(quota.name);
    if (existing) return existing;
    const options = { points: quota.limit, duration: quota.windowSeconds, keyPrefix: REDIS_PREFIX };
    const memory = new RateLimiterMemory(options);
    const limiter = this.redis
      ? new RateLimiterRedis({
          ...options,
          storeClient: this.redis,
          insuranceLimiter: memory,
          rejectIfRedisNotReady: true,
        })
      : memory;
    this.#limiters.set(quota.name, limiter);
    return limiter;
  }

  #logFailure(error: Error): void {
    this.storeFailures.next(error);
    if (performance.now() - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#loggedAt = performance.now();
    // Only the message: the error of a failed AUTH contains the password.
    this.#log.warn(
      { event: 'rate_limit_store_unavailable', reason: error.message },
      'Redis is unreachable: each instance counts its own requests',
    );
  }
}

/** A slower Redis counts as unreachable. */
const COMMAND_TIMEOUT_MS = 250;
/**
 * A connection without a reply for this long is closed, which emits an error. Until there is a new connection, commands
 * fail immediately. Otherwise every command would wait for its timeout, and no error would be emitted.
 */
const SILENCE_MS = 500;

/**
 * Connects to Redis if there is a REDIS_URL. The service also starts while Redis is unreachable: it keeps trying to
 * connect in the background, and commands fail immediately.
 */
export async function connectRedis(url: string | undefined): Promise<Redis | undefined> {
  if (url === undefined) return undefined;
  // Loaded only if it is used.
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 1000,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(2000, 50 * 2 ** Math.min(attempt, 10)),
  });
  // `RateLimiter` adds its listener later. Until then, errors must not count as unhandled.
  redis.on('error', () => undefined);
  await redis.connect().catch(() => undefined);
  return redis;
}
