/** Calendar days of a merchant, as docs/cashback.md describes them under "Days". Instants are milliseconds. */

const DAY_MS = 86_400_000;
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Returns the local date of an instant, such as `2026-11-20`. */
export function localDate(at: number, timeZone: string): string {
  let formatter = formatters.get(timeZone);
  if (!formatter) {
    formatter = new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
    formatters.set(timeZone, formatter);
  }
  return formatter.format(at);
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00.000Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** "In zones with daylight saving time, a day begins at the first instant of the local date." */
export function startOfDay(date: string, timeZone: string): number {
  let [before, within] = [Date.parse(date) - 2 * DAY_MS, Date.parse(date) + 2 * DAY_MS];
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (localDate(middle, timeZone) < date) before = middle;
    else within = middle;
  }
  return within;
}

export const instant = (at: number): string => new Date(at).toISOString();
