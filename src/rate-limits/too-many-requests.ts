import { Problem } from '../common/problem.js';
import type { RateLimitPolicy } from './policies.js';

/** A limit that is used up, and the time until its window ends. */
export interface UsedUp {
  policy: RateLimitPolicy;
  msBeforeNext: number;
}

/** At least a second, because an immediate retry would be refused; at most the window, even if a clock was changed. */
const secondsOf = ({ policy, msBeforeNext }: UsedUp): number =>
  Math.min(policy.windowSeconds, Math.max(1, Math.ceil(msBeforeNext / 1000)));

/**
 * Returns a 429 with `Retry-After` (RFC 9110, section 10.2.3) and the fields of draft-ietf-httpapi-ratelimit-headers.
 *
 * @param limits the limits that are used up; the caller can retry when the first of them is available again.
 */
export function tooManyRequests(limits: UsedUp[]): Problem {
  const retryAfter = Math.min(...limits.map(secondsOf));
  return new Problem('too_many_requests', {
    detail: `try again in ${retryAfter} second${retryAfter === 1 ? '' : 's'}`,
    headers: {
      'retry-after': String(retryAfter),
      'ratelimit-policy': limits
        .map(({ policy: { name, quota, windowSeconds } }) => `"${name}";q=${quota};w=${windowSeconds}`)
        .join(', '),
      ratelimit: limits.map((limit) => `"${limit.policy.name}";r=0;t=${secondsOf(limit)}`).join(', '),
    },
  });
}
