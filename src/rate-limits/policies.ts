import type { Config } from '../config/config.js';

/** A quota for a window of time that starts with the first counted request or failure. */
export interface RateLimitPolicy {
  /** The name in the `RateLimit` header fields. It is part of the key, so that policies don't share counts. */
  name: string;
  quota: number;
  windowSeconds: number;
}

/** The policies of a route, in the order in which they are used up; empty if the limit is disabled. */
export type RateLimitPolicies = (config: Config) => RateLimitPolicy[];

const MINUTE_SECONDS = 60;
const LOGIN_WINDOW_SECONDS = 15 * MINUTE_SECONDS;
const DAY_SECONDS = 24 * 60 * MINUTE_SECONDS;

/**
 * Requests of one API user. Requests above the quota per second count against the burst quota per minute, which absorbs
 * peaks such as the minute after an outage or the start of a sale.
 */
export const REQUESTS: RateLimitPolicies = ({ RATE_LIMIT }) =>
  RATE_LIMIT === 0
    ? []
    : [
        { name: 'requests', quota: RATE_LIMIT, windowSeconds: 1 },
        { name: 'requests-burst', quota: 10 * RATE_LIMIT, windowSeconds: MINUTE_SECONDS },
      ];

/**
 * Refreshes of one session. An access token is valid for an hour, so a client with 60 refreshes per minute has a bug.
 */
export const REFRESH: RateLimitPolicy = { name: 'refresh', quota: 60, windowSeconds: MINUTE_SECONDS };

/** @param factor by which the quota is larger than LOGIN_RATE_LIMIT. */
const failedLogins =
  (name: string, factor = 1) =>
  ({ LOGIN_RATE_LIMIT }: Config): RateLimitPolicy => {
    return { name, quota: factor * LOGIN_RATE_LIMIT, windowSeconds: LOGIN_WINDOW_SECONDS };
  };

/** Failed logins of one user from one network. */
export const loginPolicy = failedLogins('login');

/** Failed logins from one network, of any user: one password tried for many users. */
export const loginNetworkPolicy = failedLogins('login-network', 5);

/** Failed logins of one user from all networks that are new to it: one user attacked from many networks. */
export const loginUserPolicy = failedLogins('login-user', 5);

/** How long a network stays known for a user after its last login from there. Not a limit, but stored like one. */
export const KNOWN_NETWORK: RateLimitPolicy = { name: 'known-network', quota: 1, windowSeconds: 90 * DAY_SECONDS };
