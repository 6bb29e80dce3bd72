import { type Asked } from '../platform/database/reads.js';
import { exactCents, formatMoney } from '../platform/values/money.js';
import { validationFailed } from '../platform/values/problem.js';
import { DAY_MS, startOfDay } from '../platform/values/time.js';

/** Days of a merchant. */
export interface Days {
  /** The first one. */
  from: string;
  /** The day after the last one. */
  to: string;
}

export const MAX_ROWS = 10_000;

/** The most days of a report that reads orders or grants. */
export const MAX_DAYS = 31;

export function refuseDays({ from, to }: Days, maxDays = MAX_DAYS): void {
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS;
  if (days >= 1 && days <= maxDays) return;
  const detail = days < 1 ? 'must be after from' : `must be at most ${maxDays} days after from`;
  throw validationFailed([{ parameter: 'to', detail }]);
}

/**
 * Returns when the days of a report begin and end.
 *
 * @throws Problem validation_failed if there are none, or too many.
 */
export function boundsOf({ query: { from, to }, timeZone }: Asked<Days>): [Date, Date] {
  refuseDays({ from, to });
  return [startOfDay(from, timeZone), startOfDay(to, timeZone)];
}

/** @param parameter the one that makes too many rows. */
export function refuseMany(rows: readonly unknown[], parameter: string): void {
  if (rows.length <= MAX_ROWS) return;
  throw validationFailed([{ parameter, detail: `makes a report of more than ${MAX_ROWS} rows` }]);
}

/** @param cents a sum of the database. */
export const money = (cents: string): string => formatMoney(exactCents(cents));
