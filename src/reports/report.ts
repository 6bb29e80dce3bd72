import { COMPLETED_STATUSES } from '../orders/order-transitions.js';
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

type Figures<Counts extends string, Amounts extends string> = Record<Counts, number> & Record<Amounts, string>;

/** Returns counts and amounts of a row as a response has them. The database has them as texts, amounts in centavos. */
export function figures<const Counts extends string, const Amounts extends string>(
  row: Record<Counts | Amounts, string>,
  counts: readonly Counts[],
  amounts: readonly Amounts[],
): Figures<Counts, Amounts> {
  const shown = [
    ...counts.map((name) => [name, Number(row[name])] as const),
    ...amounts.map((name) => [name, formatMoney(exactCents(row[name]))] as const),
  ];
  return Object.fromEntries(shown) as Figures<Counts, Amounts>;
}

/** The merchant's orders that were completed in a part of time; `completedIn` has its parameters. */
export const OF_COMPLETED =
  'FROM orders FORCE INDEX (ix_orders_completion) WHERE merchant_id = ? AND status IN (?) AND completed_at >= ? AND completed_at < ?';

export const completedIn = (merchantId: string, bounds: readonly Date[]): unknown[] => [
  merchantId,
  COMPLETED_STATUSES,
  bounds[0],
  bounds.at(-1),
];
