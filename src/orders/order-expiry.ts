import { after, MINUTE_MS } from '../common/clock.js';
import { type Problem, validationFailed } from '../common/problem.js';
import type { Policy } from '../merchants/policy.js';

/** The shortest time for which an order can be quoted. */
const MIN_MINUTES = 1;

/** Returns when an order expires if the request does not say so. */
export function defaultExpiry(policy: Policy, now: Date): Date {
  return after(now, policy.orderTtlMinutes * MINUTE_MS);
}

/** Returns a 400 that says the bounds if an order cannot expire at that instant. */
export function expiryProblem(expiresAt: Date, { maxOrderTtlMinutes }: Policy, now: Date): Problem | undefined {
  const [first, last] = [after(now, MIN_MINUTES * MINUTE_MS), after(now, maxOrderTtlMinutes * MINUTE_MS)];
  if (expiresAt >= first && expiresAt <= last) return undefined;
  const bounds = `from ${first.toISOString()} to ${last.toISOString()}`;
  return validationFailed([
    {
      pointer: '/expires_at',
      detail: `must be from ${MIN_MINUTES} to ${maxOrderTtlMinutes} minutes in the future: ${bounds}`,
    },
  ]);
}
