import { createHmac, type KeyObject } from 'node:crypto';
import { Problem } from '../common/problem.js';
import type { Config } from '../config/config.js';
import { derivedKeys } from '../config/signing-secrets.js';

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
export interface UsedUp {
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
