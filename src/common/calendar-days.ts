/**
 * Calendar days in a time zone, by `Temporal`; the polyfill goes when every supported Node has it. A day is a text such
 * as `2026-11-20`: days compare and sort as texts.
 */
import { Temporal } from 'temporal-polyfill';
import { DAY_MS } from './clock.js';

/** By time zone and day. Most orders ask for the same few days, and computing one takes several microseconds. */
const starts = new Map<string, number>();
const RESULTS_KEPT = 1000;

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
  const day = instant.toISOString().replace(/T.*/, '');
  const hasBegun = (candidate: string): boolean => startOfDay(candidate, timeZone) <= instant;
  return [addDays(day, 1), day].find(hasBegun) ?? addDays(day, -1);
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
  const ms = remembered(
    starts,
    `${timeZone} ${day}`,
    () => Temporal.PlainDate.from(day).toZonedDateTime(timeZone).epochMilliseconds,
  );
  return new Date(ms);
}

function remembered<T>(results: Map<string, T>, key: string, compute: () => T): T {
  const known = results.get(key);
  if (known !== undefined) return known;
  const result = compute();
  if (results.size === RESULTS_KEPT) results.clear();
  results.set(key, result);
  return result;
}
