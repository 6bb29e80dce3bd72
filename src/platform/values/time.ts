import { Global, Injectable, Module } from '@nestjs/common';

/** The only source of the current time, so that tests can control it. */
@Injectable()
export class Clock {
  /**
   * @param _merchantId whose orders, cashback and days are dated. Without it, the time is the service's own: that of
   *   tokens, limits, leases, sweeps and logs.
   */
  now(_merchantId?: string): Date {
    return new Date();
  }
}

@Global()
@Module({ providers: [Clock], exports: [Clock] })
export class ClockModule {}

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export function after(instant: Date, ms: number): Date {
  return new Date(instant.getTime() + ms);
}

/** RFC 3339, section 5.6, with at most milliseconds. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?(Z|[+-]\d{2}:\d{2})$/;

const FIRST_INSTANT_MS = Date.parse('0000-01-01T00:00:00.000Z');

/** The last instant that RFC 3339 can express in UTC, and that the database can store. */
export const LAST_INSTANT_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** In the years 0 to 9999 (UTC). February 30 is not. */
export function isInstant(text: unknown): text is string {
  if (typeof text !== 'string' || !INSTANT.test(text)) return false;
  const local = new Date(text.replace(/(Z|[+-]\d{2}:\d{2})$/, 'Z'));
  const ms = Date.parse(text);
  return (
    ms >= FIRST_INSTANT_MS &&
    ms <= LAST_INSTANT_MS &&
    !Number.isNaN(local.getTime()) &&
    local.toISOString().startsWith(text.slice(0, 10))
  );
}

const FIRST_STORED_MS = Date.UTC(1970, 0, 1);
const AFTER_LAST_STORED_MS = Date.UTC(9999, 0, 1);

/**
 * Returns whether the database stores and returns the instant reliably: the years 1970 to 9998 (UTC). Drivers misread
 * the years 0 to 99.
 */
export function isStorable(instant: Date): boolean {
  return instant.getTime() >= FIRST_STORED_MS && instant.getTime() < AFTER_LAST_STORED_MS;
}

/** A calendar day in the years 1970 to 9998, such as `2026-11-20`. February 30 is not. */
export function isCalendarDay(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false;
  const midnight = new Date(value);
  return isStorable(midnight) && midnight.toISOString().startsWith(value);
}
