import type { Redis } from 'ioredis';

/** A slower counter counts as unreachable. */
const COMMAND_TIMEOUT_MS = 250;
/**
 * A connection that is silent for this long while an answer is due is closed, which is reported. Until there is a new
 * one, commands fail at once: otherwise every counter would wait for its timeout, and nothing would be reported.
 */
const SILENCE_MS = 500;

/**
 * Connects to Redis, if there is a REDIS_URL. The service also starts without it: while Redis is unreachable,
 * connecting goes on in the background and commands fail at once instead of waiting for it.
 */
export async function connectRedis(url: string | undefined): Promise<Redis | undefined> {
  if (url === undefined) return undefined;
  // Loaded only where it is used.
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
  // The listener of `RateLimiter` comes later; this one keeps the first attempt from being reported as unhandled.
  redis.on('error', () => undefined);
  await redis.connect().catch(() => undefined);
  return redis;
}
