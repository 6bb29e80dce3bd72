/** Amounts are centavos, instants are milliseconds, days are local dates such as `2026-11-20`. */

export const MINUTE = 60_000;
export const DAY = 86_400_000;

/** Reads an amount of a response, which always has two decimals. */
export const cents = (amount: string): bigint => BigInt(amount.replace('.', ''));
export const brl = (amount: bigint): string =>
  amount < 0n ? `-${brl(-amount)}` : `${amount / 100n}.${String(amount % 100n).padStart(2, '0')}`;
export const min = (...amounts: bigint[]): bigint => amounts.reduce((a, b) => (b < a ? b : a));
export const max = (...amounts: bigint[]): bigint => amounts.reduce((a, b) => (b > a ? b : a));
export const sum = (amounts: bigint[]): bigint => amounts.reduce((a, b) => a + b, 0n);

/** The largest amount that a request can have. */
export const MOST = 99_999_999_999n;

export const instant = (at: number): string => new Date(at).toISOString();

const formatters = new Map<string, Intl.DateTimeFormat>();

export function localDate(at: number, timeZone: string): string {
  let formatter = formatters.get(timeZone);
  if (!formatter) formatters.set(timeZone, (formatter = new Intl.DateTimeFormat('en-CA', { timeZone })));
  return formatter.format(at);
}

export const addDays = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * DAY).toISOString().slice(0, 10);

/** "In zones with daylight saving time, a day begins at the first instant of the local date." */
export function startOfDay(date: string, timeZone: string): number {
  let [before, within] = [Date.parse(date) - 2 * DAY, Date.parse(date) + 2 * DAY];
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (localDate(middle, timeZone) < date) before = middle;
    else within = middle;
  }
  return within;
}
