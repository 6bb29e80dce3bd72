import { Global, Injectable, Module } from '@nestjs/common';
import { Temporal } from 'temporal-polyfill';

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

/** RFC 3339, section 5.6. Programs write up to nanoseconds, and what is finer than a millisecond is cut. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

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

// Calendar days in a time zone, by `Temporal`; the polyfill goes when every supported Node has it. A day is a text such
// as `2026-11-20`: days compare and sort as texts.

/** A day of a time zone. */
interface LocalDay {
  day: string;
  startMs: number;
}

/** By time zone and the number of days since 1970: most orders ask for the same few, and each takes microseconds. */
const localDays = new Map<string, Map<number, LocalDay>>();
const DAYS_KEPT = 1000;

/** Returns whether the text is an IANA time zone that this runtime knows, such as `America/Sao_Paulo` or `UTC`. */
export function isTimeZone(text: string): boolean {
  // `Temporal` also accepts offsets such as `-03:00`, which have no daylight saving time.
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    new Temporal.ZonedDateTime(0n, text);
    return true;
  } catch {
    return false;
  }
}

/** @throws RangeError for an unknown time zone. */
export function dayOf(instant: Date, timeZone: string): string {
  const ms = instant.getTime();
  const number = Math.floor(ms / DAY_MS);
  const hasBegun = (candidate: LocalDay): boolean => candidate.startMs <= ms;
  return ([1, 0].map((more) => localDay(number + more, timeZone)).find(hasBegun) ?? localDay(number - 1, timeZone)).day;
}

/** Returns an instant as people of the time zone read it, such as `2026-11-20 10:45:00-03:00`. */
export function localTime(instant: Date, timeZone: string): string {
  const local = Temporal.Instant.fromEpochMilliseconds(instant.getTime()).toZonedDateTimeISO(timeZone);
  return local.toString({ smallestUnit: 'second', timeZoneName: 'never' }).replace('T', ' ');
}

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().replace(/T.*/, '');
}

/** Returns the first day of the month after that of a day. */
export const firstOfNextMonth = (day: string): string => `${addDays(`${day.slice(0, 7)}-01`, 31).slice(0, 7)}-01`;

/**
 * Returns the first instant of a local date. Where the clocks skip midnight, that is the end of the gap; where midnight
 * occurs twice, the first one.
 *
 * @throws RangeError for an unknown time zone.
 */
export function startOfDay(day: string, timeZone: string): Date {
  return new Date(localDay(Date.parse(day) / DAY_MS, timeZone).startMs);
}

function localDay(number: number, timeZone: string): LocalDay {
  const known = localDays.get(timeZone)?.get(number);
  if (known !== undefined) return known;
  const day = new Date(number * DAY_MS).toISOString().replace(/T.*/, '');
  const found = { day, startMs: Temporal.PlainDate.from(day).toZonedDateTime(timeZone).epochMilliseconds };
  const ofZone = localDays.get(timeZone) ?? new Map<number, LocalDay>();
  if (ofZone.size === DAYS_KEPT) ofZone.clear();
  localDays.set(timeZone, ofZone.set(number, found));
  return found;
}
