import { expect } from '@jest/globals';
import type { Answer } from './client.js';
import { expectProblem } from './expectations.js';
import { hasRedis, startRedis } from './redis.js';
import type { Service } from './service.js';

/** Where the points are counted. */
interface Store {
  store: string;
  /** @returns the variables that choose it, and what ends it. */
  open: () => Promise<{ env: Record<string, string>; close: () => Promise<void> }>;
}

export const stores: Store[] = [
  { store: 'the database', open: () => Promise.resolve({ env: {}, close: () => Promise.resolve() }) },
];
if (hasRedis) {
  stores.push({
    store: 'Redis',
    open: async () => {
      const { url, stop } = await startRedis();
      return { env: { REDIS_URL: url }, close: stop };
    },
  });
}

/** The answer is a 429 of that limit, with all that a client needs to come again in time. */
export function expectLimited(answer: Answer | undefined, policies: string, windowSeconds: number): void {
  if (answer === undefined) throw new Error('there is no answer');
  expectProblem(answer, 429, 'too_many_requests');
  expect(answer.body.retryable).toBe(true);
  const retryAfter = answer.headers.get('retry-after') ?? '';
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
  expect(Number(retryAfter)).toBeLessThanOrEqual(windowSeconds);
  expect(answer.headers.get('ratelimit-policy')).toBe(policies);
  const names = policies.split(', ').map((policy) => policy.split(';')[0] ?? '');
  expect(answer.headers.get('ratelimit')).toMatch(
    new RegExp(`^${names.map((name) => `${name};r=0;t=[1-9]\\d*`).join(', ')}$`),
  );
}

/** How many of the answers have each status. */
export function statusesOf(answers: Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Ends every window that has begun, as if its time had passed. */
export async function endWindows(service: Service): Promise<void> {
  await service.dataSource.query('UPDATE rate_limits SET expire = ?', [Date.now() - 1]);
}

/** The events that the service logged, by name. */
export function eventsOf(service: Service, event: string): Record<string, unknown>[] {
  return service.logged
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((entry) => entry.event === event);
}
