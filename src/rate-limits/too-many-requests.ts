import { Problem } from '../common/problem.js';
import type { RateLimitPolicy } from './policies.js';

/** A limit that is used up, and how long until it opens again. */
export interface UsedUp {
  policy: RateLimitPolicy;
  msBeforeNext: number;
}

/** Never "0 seconds": who comes back at once would be refused again. */
const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

/**
 * A 429 with `Retry-After` (RFC 9110, section 10.2.3) and the fields of draft-ietf-httpapi-ratelimit-headers.
 *
 * @param limits all of them are used up; the first that opens again lets the caller through.
 */
export function tooManyRequests(limits: UsedUp[]): Problem {
  const retryAfter = Math.min(...limits.map(({ msBeforeNext }) => wholeSeconds(msBeforeNext)));
  return new Problem('too_many_requests', {
    detail: `try again in ${retryAfter} second${retryAfter === 1 ? '' : 's'}`,
    headers: {
      'retry-after': String(retryAfter),
      'ratelimit-policy': limits
        .map(({ policy: { name, quota, windowSeconds } }) => `"${name}";q=${quota};w=${windowSeconds}`)
        .join(', '),
      ratelimit: limits
        .map(({ policy: { name }, msBeforeNext }) => `"${name}";r=0;t=${wholeSeconds(msBeforeNext)}`)
        .join(', '),
    },
  });
}
