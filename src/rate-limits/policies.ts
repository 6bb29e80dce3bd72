import type { Config } from '../config/config.js';

/** A limit: so many points in a window that begins with the first of them. */
export interface RateLimitPolicy {
  /** Its name in the `RateLimit` fields of an answer; part of the key, so no two limits share a count. */
  name: string;
  quota: number;
  windowSeconds: number;
}

const LOGIN_WINDOW_SECONDS = 15 * 60;

/** Failed log-ins with one e-mail from one address. */
export const loginPolicy = ({ LOGIN_RATE_LIMIT: quota }: Config): RateLimitPolicy => ({
  name: 'login',
  quota,
  windowSeconds: LOGIN_WINDOW_SECONDS,
});

/** Failed log-ins from one address with whatever e-mails: who guesses one password for many of them. */
export const loginAddressPolicy = ({ LOGIN_RATE_LIMIT }: Config): RateLimitPolicy => ({
  name: 'login-address',
  quota: 5 * LOGIN_RATE_LIMIT,
  windowSeconds: LOGIN_WINDOW_SECONDS,
});

/** Renewals of one session. A token set lives an hour: a minute of sixty is a loop that has gone wild. */
export const REFRESH_POLICY: RateLimitPolicy = { name: 'refresh', quota: 60, windowSeconds: 60 };

/** Order requests of one API user. */
export const ordersPolicy = ({ RATE_LIMIT: quota }: Config): RateLimitPolicy => ({
  name: 'orders',
  quota,
  windowSeconds: 1,
});

/** What goes beyond `ordersPolicy` for a while: the minute after an outage, that of a sale's start. */
export const ordersBurstPolicy = ({ RATE_LIMIT }: Config): RateLimitPolicy => ({
  name: 'orders-burst',
  quota: 10 * RATE_LIMIT,
  windowSeconds: 60,
});
