import { expect } from '@jest/globals';
import type { Answer } from './client.js';
import { expectProblem } from './expectations.js';
import type { Service } from './service.js';

/** Expects a 429 with these policies and a Retry-After within the window. */
export function expectLimited(answer: Answer<unknown> | undefined, policies: string, windowSeconds: number): void {
  if (answer === undefined) throw new Error('there is no response');
  expectProblem(answer, 429, 'too_many_requests');
  expect(answer.body).toMatchObject({ retryable: true });
  const retryAfter = answer.headers.get('retry-after') ?? '';
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
  expect(Number(retryAfter)).toBeLessThanOrEqual(windowSeconds);
  expect(answer.headers.get('ratelimit-policy')).toBe(policies);
  const names = policies.split(', ').map((policy) => policy.split(';')[0] ?? '');
  expect(answer.headers.get('ratelimit')).toMatch(
    new RegExp(`^${names.map((name) => `${name};r=0;t=[1-9]\\d*`).join(', ')}$`),
  );
}

/** The number of responses per status. */
export function statusesOf(answers: Answer<unknown>[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Moves the end of every window in the database, as if the clock of an instance or the server were different. */
export async function moveWindows(service: Service, milliseconds: number): Promise<void> {
  await service.dataSource.query('UPDATE rate_limits SET expire = expire + ?', [milliseconds]);
}

/** The events with this name that the service logged. */
export function eventsOf(service: Service, event: string): Record<string, unknown>[] {
  return service.logged
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((entry) => entry.event === event);
}
