import type { Redis } from 'ioredis';

/** A counter that takes longer than this is as good as away. */
const COMMAND_TIMEOUT_MS = 250;
/**
 * A connection on which nothing has come for so long while an answer was due is closed, which is reported. Until there
 * is a new one, commands fail at once: otherwise every counter would wait for its time-out, and nobody would hear of it.
 */
const SILENCE_MS = 500;

/**
 * Connects to Redis, where there is a REDIS_URL. It is no condition for the start: while it is away,
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
  // The store's own listener comes later; this one keeps the first attempt from being reported as unhandled.
  redis.on('error', () => undefined);
  await redis.connect().catch(() => undefined);
  return redis;
}
