import type { Config } from '../config/config.js';

/** A quota in a window that starts with the first request or failure that is counted. */
export interface RateLimitPolicy {
  /** Its name in the `RateLimit` fields of an answer; part of the key, so no two policies share a count. */
  name: string;
  quota: number;
  windowSeconds: number;
}

/** The policies of a route, in the order in which they are used up; none where the limit is turned off. */
export type RateLimitPolicies = (config: Config) => RateLimitPolicy[];

const MINUTE_SECONDS = 60;
const LOGIN_WINDOW_SECONDS = 15 * MINUTE_SECONDS;
const DAY_SECONDS = 24 * 60 * MINUTE_SECONDS;

/**
 * Requests of one API user. What exceeds the second's quota is taken from the minute's burst, which is there for the
 * minute after an outage or for the start of a sale.
 */
export const REQUESTS: RateLimitPolicies = ({ RATE_LIMIT }) =>
  RATE_LIMIT === 0
    ? []
    : [
        { name: 'requests', quota: RATE_LIMIT, windowSeconds: 1 },
        { name: 'requests-burst', quota: 10 * RATE_LIMIT, windowSeconds: MINUTE_SECONDS },
      ];

/** Refreshes of one session. An access token lasts an hour: sixty refreshes in a minute are a loop without a stop. */
export const REFRESH: RateLimitPolicy = { name: 'refresh', quota: 60, windowSeconds: MINUTE_SECONDS };

/** Failed logins of one user from one network. */
export const loginPolicy = ({ LOGIN_RATE_LIMIT: quota }: Config): RateLimitPolicy => ({
  name: 'login',
  quota,
  windowSeconds: LOGIN_WINDOW_SECONDS,
});

/** Failed logins from one network, whatever the user: one password tried for many users. */
export const loginNetworkPolicy = ({ LOGIN_RATE_LIMIT }: Config): RateLimitPolicy => ({
  name: 'login-network',
  quota: 5 * LOGIN_RATE_LIMIT,
  windowSeconds: LOGIN_WINDOW_SECONDS,
});

/** Failed logins of one user from all networks that it has not logged in from: one user attacked from many networks. */
export const loginUserPolicy = ({ LOGIN_RATE_LIMIT }: Config): RateLimitPolicy => ({
  name: 'login-user',
  quota: 5 * LOGIN_RATE_LIMIT,
  windowSeconds: LOGIN_WINDOW_SECONDS,
});

/** How long a network stays known for a user after its last login from there. It is not a limit, but is stored like one. */
export const KNOWN_NETWORK: RateLimitPolicy = { name: 'known-network', quota: 1, windowSeconds: 90 * DAY_SECONDS };
