import { createHmac, hkdfSync } from 'node:crypto';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type mysql2 from 'mysql2';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { Metrics } from '../metrics/metrics.js';
import { DatabaseLimiter } from './database-limiter.js';
import type { RateLimitPolicy } from './policies.js';
import { limiterClient } from './sql-client.js';

const TABLE = 'rate_limits';
const REDIS_PREFIX = 'cashback:rate-limits';
/** A store that is away fails with every request: the log hears of it so often and no oftener. */
const COMPLAIN_EVERY_MS = 60_000;

/**
 * Where the points are counted, for all instances together: the database, or Redis where there is one.
 * While neither can be asked, each instance counts for itself in memory: no order waits for a counter.
 */
@Injectable()
export class RateLimitStore implements OnApplicationShutdown {
  readonly #log = new Logger('RateLimits');
  readonly #key: Buffer;
  readonly #sqlClient = limiterClient(
    () => (this.dataSource.driver as unknown as { pool: mysql2.Pool }).pool,
    (error) => this.#complain(error),
  );
  #complainedAt = 0;

  constructor(
    private readonly dataSource: DataSource,
    config: Config,
    private readonly metrics: Metrics,
    private readonly redis: Redis | undefined,
  ) {
    this.#key = Buffer.from(hkdfSync('sha256', config.JWT_SECRET, '', 'cashback rate limits', 32));
    // ioredis connects again by itself; without a listener its errors would be written to stderr.
    redis?.on('error', (error: Error) => this.#complain(error));
  }

  limiterOf({ quota, windowSeconds }: RateLimitPolicy): RateLimiterAbstract {
    const limit = { points: quota, duration: windowSeconds, keyPrefix: this.redis ? REDIS_PREFIX : '' };
    const insured = { ...limit, insuranceLimiter: new RateLimiterMemory(limit) };
    if (this.redis) return new RateLimiterRedis({ ...insured, storeClient: this.redis, rejectIfRedisNotReady: true });
    return new DatabaseLimiter(this.#sqlClient, TABLE, {
      ...insured,
      dbName: this.dataSource.options.database as string,
      tableCreated: true,
      // One sweeper for all limits does that, and ends with the service.
      clearExpiredByTimeout: false,
    });
  }

  /**
   * The key of what a limit counts. As JSON no two lists of parts look alike, and the store gets an HMAC of
   * it: addresses and e-mails are few enough to be found again behind a plain hash.
   */
  keyOf({ name }: RateLimitPolicy, ...parts: string[]): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([name, ...parts]))
      .digest('hex');
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }

  #complain(error: Error): void {
    this.metrics.rateLimitStoreFailed();
    if (Date.now() - this.#complainedAt < COMPLAIN_EVERY_MS) return;
    this.#complainedAt = Date.now();
    // The message alone: the error of a refused AUTH carries the password.
    this.#log.warn(
      { event: 'rate_limit_store_unavailable', reason: error.message },
      'each instance counts for itself meanwhile',
    );
  }
}
