/**
 * Calendar days in a time zone. A day is a text such as `2026-11-20`: days compare and sort as texts. Everything is
 * computed with the time zone data of the runtime.
 */
import { DAY_MS, MINUTE_MS } from './clock.js';

/** Formatters by time zone. Creating one takes a thousand times as long as using it. */
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Offsets from UTC in milliseconds, by time zone and minute: most orders ask for the same few minutes. */
const offsets = new Map<string, number>();
const OFFSETS_KEPT = 1000;

/** Returns whether the text is an IANA time zone that this runtime knows, such as `America/Sao_Paulo` or `UTC`. */
export function isTimeZone(text: string): boolean {
  // The runtime also accepts offsets such as `-03:00`, which have no daylight saving time.
  if (!/^[A-Za-z]/.test(text)) return false;
  try {
    formatterOf(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the local date of an instant. @throws RangeError for an unknown time zone. */
export function dayOf(instant: Date, timeZone: string): string {
  return textOf(localMs(instant.getTime(), timeZone));
}

/** Returns the day `days` days later, or earlier for a negative number. */
export function addDays(day: string, days: number): string {
  return textOf(Date.parse(day) + days * DAY_MS);
}

/**
 * Returns the first instant of a local date. Where the clocks skip midnight, that is the end of the gap; where midnight
 * occurs twice, the first one.
 *
 * @throws RangeError for an unknown time zone.
 */
export function startOfDay(day: string, timeZone: string): Date {
  const midnight = Date.parse(day);
  const offsetAt = (ms: number): number => localMs(ms, timeZone) - ms;
  const [before, later] = [offsetAt(midnight - DAY_MS), offsetAt(midnight + DAY_MS)];
  const midnights = [midnight - before, midnight - later].filter((ms) => localMs(ms, timeZone) === midnight);
  if (midnights.length > 0) return new Date(Math.min(...midnights));
  // The clocks skip midnight: find the instant at which they change.
  let [low, high] = [midnight - later, midnight - before];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return new Date(high);
}

/** Returns what a clock in the time zone shows at an instant, as if that were UTC. */
function localMs(ms: number, timeZone: string): number {
  // Clocks change at whole minutes.
  const minute = Math.floor(ms / MINUTE_MS) * MINUTE_MS;
  const key = `${timeZone} ${minute}`;
  let offset = offsets.get(key);
  if (offset === undefined) {
    offset = computeOffset(minute, timeZone);
    if (offsets.size === OFFSETS_KEPT) offsets.clear();
    offsets.set(key, offset);
  }
  return ms + offset;
}

function computeOffset(ms: number, timeZone: string): number {
  const shown: Record<string, number> = {};
  for (const { type, value } of formatterOf(timeZone).formatToParts(ms)) shown[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown;
  return Date.UTC(year, month - 1, day, hour, minute, second) - ms;
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timeZone);
  if (formatter === undefined) {
    const [number, twoDigits] = ['numeric', '2-digit'] as const;
    formatter = new Intl.DateTimeFormat('en-US-u-ca-gregory', {
      ...{ timeZone, hourCycle: 'h23', year: number, month: twoDigits, day: twoDigits },
      ...{ hour: twoDigits, minute: twoDigits, second: twoDigits },
    });
    formatters.set(timeZone, formatter);
  }
  return formatter;
}

function textOf(localMidnight: number): string {
  return new Date(localMidnight).toISOString().slice(0, 10);
}
