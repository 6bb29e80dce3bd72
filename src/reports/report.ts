import { COMPLETED_STATUSES } from '../orders/order-transitions.js';
import { SumPosition } from '../merchants/merchant.entity.js';
import { type DaySums, type Sum } from '../platform/database/day-sums.js';
import { type Asked } from '../platform/database/reads.js';
import { exactCents, formatMoney, sumCents } from '../platform/values/money.js';
import { validationFailed } from '../platform/values/problem.js';
import { addDays, DAY_MS, firstOfNextMonth, startOfDay } from '../platform/values/time.js';

/** Days of a merchant. */
export interface Days {
  /** The first one. */
  from: string;
  /** The day after the last one. */
  to: string;
}

export const MAX_ROWS = 10_000;

/** The most days of a report that reads orders. */
const MAX_DAYS = 31;

/** The most days of a report that reads sums. */
export const MAX_DAYS_OF_SUMS = 366;

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

/** Days, and what one row is of. */
interface Periods extends Days {
  by?: string;
}

/** Returns the days or months of a period; without them, the period. */
export function periodsOf({ from, to, by }: Periods): Days[] {
  const periods: Days[] = [];
  for (let start = from; start < to;) {
    const next = by === 'day' ? addDays(start, 1) : by === 'month' ? firstOfNextMonth(start) : to;
    periods.push({ from: start, to: next < to ? next : to });
    start = next;
  }
  return periods;
}

/**
 * Returns the sums of a period by some dimensions, including what is not summed yet. Each row has a day of its part of
 * the period.
 *
 * @param all sums that have the same table.
 * @param hasPast whether what was before the period counts, too: it has a day before the period.
 */
export async function readSums<Name extends string, Measure extends string>(
  { manager, merchantId, timeZone, query }: Asked<Periods>,
  all: readonly [DaySums<Name, Measure>, ...DaySums<Name, Measure>[]],
  names: readonly Name[] = [],
  hasPast = false,
): Promise<{ rows: Sum<Name, Measure>[]; summedUntil: Date }> {
  const begin = hasPast ? new Date(0) : startOfDay(query.from, timeZone);
  const rows = await all[0].summed(manager, merchantId, query, names, hasPast);
  const positions: Date[] = [];
  for (const sums of all) {
    const { summedUntil } = await manager.findOneByOrFail(SumPosition, { merchantId, sums: sums.name });
    const rest = { from: summedUntil > begin ? summedUntil : begin, to: startOfDay(query.to, timeZone) };
    for (const row of await sums.rest(manager, { merchantId, timeZone }, rest, names)) rows.push(row);
    positions.push(summedUntil);
  }
  return { rows, summedUntil: positions[0]! };
}

type Row = Partial<Record<string, string | number>>;

/** Returns what rows of sums have in some columns, in all. */
export const addUp = <const Column extends string>(
  rows: readonly Row[],
  columns: readonly Column[],
): Record<Column, number> => {
  const sumOf = (column: Column): number => sumCents(rows.map((row) => exactCents(row[column] ?? 0)));
  return Object.fromEntries(columns.map((column) => [column, sumOf(column)])) as Record<Column, number>;
};
