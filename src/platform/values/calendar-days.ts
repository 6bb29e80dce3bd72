import { Temporal } from 'temporal-polyfill';
import { DAY_MS } from './time.js';

/**
 * Calendar days in a time zone, by `Temporal`; the polyfill goes when every supported Node has it. A day is a text such
 * as `2026-11-20`: days compare and sort as texts.
 */

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
