import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { LeasedLimiter } from './lease.js';

/** The store, with a way to it: how often it was asked is counted, and an answer takes a while. */
class Store extends RateLimiterMemory {
  asked = 0;
  delayMs = 2;

  override async consume(key: string, points?: number): Promise<RateLimiterRes> {
    this.asked += 1;
    const outcome = await super.consume(key, points).then(
      (value) => () => value,
      (error: unknown) => () => {
        throw error;
      },
    );
    await sleep(this.delayMs);
    return outcome();
  }
}

const storeOf = (points: number, duration = 10): Store => new Store({ points, duration });

async function takeMany(limiters: LeasedLimiter[], times: number, key = 'a'): Promise<number> {
  const taken = await Promise.all(
    Array.from({ length: times }, async (_, index) => limiters[index % limiters.length]?.take(key)),
  );
  return taken.filter((refused) => refused === undefined).length;
}

describe('a limiter with leases', () => {
  it.each([1, 2, 7, 10, 99, 100, 250])('lets exactly %i through at once, and refuses the rest', async (points) => {
    expect(await takeMany([new LeasedLimiter(storeOf(points))], points + 50)).toBe(points);
  });

  it.each([1, 5, 23, 100])(
    'never lets more than %i through on three instances together, one after another or at once',
    async (points) => {
      const store = storeOf(points);
      const instances = [1, 2, 3].map(() => new LeasedLimiter(store));
      let passed = 0;
      for (let round = 0; round < points; round++) passed += await takeMany(instances, 3);
      passed += await takeMany(instances, 300);
      expect(passed).toBe(points);
    },
  );

  it('asks the store for ten at a time, and for as many as wait', async () => {
    const store = storeOf(100);
    const limiter = new LeasedLimiter(store);
    for (let request = 0; request < 50; request++) await limiter.take('a');
    expect(store.asked).toBe(5);
    await takeMany([limiter], 40);
    expect(store.asked).toBeLessThanOrEqual(7);
  });

  it('asks no more in a window that has nothing left', async () => {
    const store = storeOf(10);
    const limiter = new LeasedLimiter(store);
    await takeMany([limiter], 20);
    const asked = store.asked;
    expect(await takeMany([limiter], 100)).toBe(0);
    expect(store.asked).toBe(asked);
  });

  it('says how long it is until the next window, and goes on in it', async () => {
    const limiter = new LeasedLimiter(storeOf(3, 1));
    expect(await takeMany([limiter], 5)).toBe(3);
    const wait = await limiter.take('a');
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(1000);
    await sleep((wait ?? 0) + 20);
    expect(await takeMany([limiter], 5)).toBe(3);
  });

  it('takes nothing that was left over into the next window', async () => {
    const store = storeOf(100, 1);
    const limiter = new LeasedLimiter(store);
    await limiter.take('a');
    await sleep(1050);
    expect(await takeMany([limiter], 150)).toBe(100);
  });

  it('lets those through who waited for a store that is slower than the window', async () => {
    const store = storeOf(5, 1);
    store.delayMs = 1100;
    expect(await takeMany([new LeasedLimiter(store)], 1)).toBe(1);
    expect(store.asked).toBe(1);
  });

  it('counts each key for itself', async () => {
    const limiter = new LeasedLimiter(storeOf(2));
    expect(await takeMany([limiter], 5, 'a')).toBe(2);
    expect(await takeMany([limiter], 5, 'b')).toBe(2);
  });

  it('throws what the store throws to all who wait, and asks it anew the next time', async () => {
    const store = storeOf(20);
    const consume = store.consume.bind(store);
    store.consume = () => Promise.reject(new Error('the store is away'));
    const limiter = new LeasedLimiter(store);
    const outcomes = await Promise.allSettled([limiter.take('a'), limiter.take('a')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    store.consume = consume;
    expect(await takeMany([limiter], 30)).toBe(20);
  });
});
