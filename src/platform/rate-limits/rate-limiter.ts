import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { type Redis } from 'ioredis';
import { createHmac, type KeyObject } from 'node:crypto';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { Subject } from 'rxjs';
import { Config, derivedKeys } from '../config/config.js';
import { Problem } from '../values/problem.js';

/** How many requests or failures are allowed in a window of time, which starts with the first counted one. */
export interface Quota {
  /** The name in the `RateLimit` header fields. It is part of the key, so that quotas don't share counts. */
  name: string;
  limit: number;
  windowSeconds: number;
}

/** The quotas of a route, in the order in which they are used up; empty if the limit is disabled. */
export type Quotas = (config: Config) => Quota[];

const MINUTE_SECONDS = 60;
const LOGIN_WINDOW_SECONDS = 15 * MINUTE_SECONDS;
const DAY_SECONDS = 24 * 60 * MINUTE_SECONDS;

/**
 * Requests of one API user. Requests above the quota per second count against the burst quota per minute, which absorbs
 * peaks such as the minute after an outage or the start of a sale.
 */
export const REQUESTS: Quotas = ({ RATE_LIMIT }) =>
  RATE_LIMIT === 0
    ? []
    : [
        { name: 'requests', limit: RATE_LIMIT, windowSeconds: 1 },
        { name: 'requests-burst', limit: 10 * RATE_LIMIT, windowSeconds: MINUTE_SECONDS },
      ];

/** Passwords that an API user makes or changes: each takes a processor for a moment. */
export const PASSWORDS: Quotas = ({ RATE_LIMIT }) =>
  RATE_LIMIT === 0 ? [] : [{ name: 'passwords', limit: 60, windowSeconds: MINUTE_SECONDS }];

/** KiB that a network sends to a sandbox in a day. They are stored, and nothing is ever deleted. */
export const SANDBOX_STORAGE: Quotas = ({ SANDBOX, RATE_LIMIT }) =>
  !SANDBOX || RATE_LIMIT === 0 ? [] : [{ name: 'sandbox-kib', limit: 1000 * RATE_LIMIT, windowSeconds: DAY_SECONDS }];

/** Refreshes of one session. An access token is valid for an hour, so 60 refreshes per minute are a bug. */
export const REFRESH: Quota = { name: 'refresh', limit: 60, windowSeconds: MINUTE_SECONDS };

const failedLogins =
  (name: string, factor = 1) =>
  ({ LOGIN_RATE_LIMIT }: Config): Quota => {
    return { name, limit: factor * LOGIN_RATE_LIMIT, windowSeconds: LOGIN_WINDOW_SECONDS };
  };

/** Failed logins of one user from one network. */
export const loginQuota = failedLogins('login');

/** Failed logins from one network, of any user: one password tried for many users. */
export const loginNetworkQuota = failedLogins('login-network', 5);

/** Failed logins of one user from all networks that are new to it: one user attacked from many networks. */
export const loginUserQuota = failedLogins('login-user', 5);

/** How long a network stays known for a user after its last login from there. Not a limit, but stored like one. */
export const KNOWN_NETWORK: Quota = { name: 'known-network', limit: 1, windowSeconds: 90 * DAY_SECONDS };

/** One per accepted signing secret, the current one first. */
export const counterSecrets = (config: Config): [KeyObject, ...KeyObject[]] =>
  derivedKeys(config, 'cashback rate limits');

/** An HMAC, because a plain hash of an address or an email can be reversed by trying all candidates. */
export function counterKey(secret: KeyObject, { name }: Quota, subject: string[]): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([name, ...subject]))
    .digest('hex');
}

/** A quota that is used up, and the time until its window ends. */
interface UsedUp {
  quota: Quota;
  msLeft: number;
}

/** At least a second, because an immediate retry would be refused; at most the window, even if a clock was changed. */
const secondsOf = ({ quota, msLeft }: UsedUp): number =>
  Math.min(quota.windowSeconds, Math.max(1, Math.ceil(msLeft / 1000)));

/**
 * Returns a 429 with `Retry-After` (RFC 9110, section 10.2.3) and the fields of draft-ietf-httpapi-ratelimit-headers.
 *
 * @param usedUp the quotas that are used up; the caller can retry when the first of them is available again.
 */
export function tooManyRequests(usedUp: UsedUp[]): Problem {
  const retryAfter = Math.min(...usedUp.map(secondsOf));
  return new Problem('too_many_requests', {
    detail: `try again in ${retryAfter} second${retryAfter === 1 ? '' : 's'}`,
    headers: {
      'retry-after': String(retryAfter),
      'ratelimit-policy': usedUp
        .map(({ quota: { name, limit, windowSeconds } }) => `"${name}";q=${limit};w=${windowSeconds}`)
        .join(', '),
      ratelimit: usedUp.map((one) => `"${one.quota.name}";r=0;t=${secondsOf(one)}`).join(', '),
    },
  });
}

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
