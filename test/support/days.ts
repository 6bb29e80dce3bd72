/**
 * Calendar days by trial: it looks at what the clocks of a zone show, minute by minute. The service
 * computes with offsets instead.
 */
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const formats = new Map<string, Intl.DateTimeFormat>();
const starts = new Map<string, number>();

/** The local date of an instant, as a text that can be compared. */
export function localDate(instant: number, zone: string): string {
  let format = formats.get(zone);
  if (format === undefined) formats.set(zone, (format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone })));
  return format.format(instant);
}

/** The first instant of the local date that is `days` after the local date of an instant. */
export function startOfDayAfter(instant: number, days: number, zone: string): number {
  const utcMidnight = Date.parse(localDate(instant, zone)) + days * DAY;
  const date = new Date(utcMidnight).toISOString().slice(0, 10);
  const key = `${zone} ${date}`;
  let start = starts.get(key);
  if (start === undefined) {
    start = utcMidnight - DAY;
    while (localDate(start, zone) < date) start += MINUTE;
    starts.set(key, start);
  }
  return start;
}
