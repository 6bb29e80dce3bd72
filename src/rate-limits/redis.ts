import type { Redis } from 'ioredis';

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
