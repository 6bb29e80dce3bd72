import { type EntityManager } from 'typeorm';
import { type EntryKind } from '../cashback/entry.entity.js';
import { LedgerPosition } from '../merchants/merchant.entity.js';
import { type Answer, type Asked } from '../platform/database/reads.js';
import { queryNamed } from '../platform/database/rows.js';
import { amountsOf, exactCents } from '../platform/values/money.js';
import { validationFailed } from '../platform/values/problem.js';
import { addDays, firstOfNextMonth, startOfDay } from '../platform/values/time.js';
import { type LedgerBy, type LedgerReportDto } from './report.dto.js';
import { completedIn, type Days, MAX_DAYS, OF_COMPLETED, refuseDays, refuseMany } from './report.js';
import { LEDGER_SUMS } from './sums.js';

/** The orders that were completed in a part of time, and how many customers these have now. */
interface OrderCounts {
  orders: number;
  customers: number;
}

const countsBy = (key: string): string => `
  SELECT ${key} AS part, COUNT(*) AS orders, COUNT(DISTINCT document) AS customers
    ${OF_COMPLETED}
   GROUP BY 1 WITH ROLLUP`;

/**
 * Counts the orders of each store (an empty text is none) or, by number, of each period that follows another one. Of
 * all it also counts the customers of several ones once; its key is null.
 *
 * @param bounds the beginning of each period, and the end of the last one.
 */
async function countOrders(
  manager: EntityManager,
  merchantId: string,
  bounds: readonly Date[],
  isByStore: boolean,
): Promise<Map<string | null, OrderCounts>> {
  const ends = bounds.slice(1);
  const period = `CASE ${ends.map((_, at) => `WHEN completed_at < ? THEN '${at}'`).join(' ')} END`;
  const sql = countsBy(isByStore ? "COALESCE(store, '')" : period);
  const parameters = [...(isByStore ? [] : ends), ...completedIn(merchantId, bounds)];
  const rows = await manager.query<Record<'part' | 'orders' | 'customers', string>[]>(sql, parameters);
  return new Map(
    rows.map(({ part, orders, customers }) => [part, { orders: Number(orders), customers: Number(customers) }]),
  );
}

const NO_ORDERS: OrderCounts = { orders: 0, customers: 0 };

const ZERO_CENTS = {
  opening: 0,
  earned: 0,
  granted: 0,
  redeemed: 0,
  returned: 0,
  taken_back: 0,
  voided: 0,
  debited: 0,
  expired: 0,
  closing: 0,
  closing_debt: 0,
};
type Member = keyof typeof ZERO_CENTS;

/**
 * The member that an entry counts in, and its sign there. Cashback that repays a debt is taken from a credit
 * (`take_back`) and from the debt (`repay`), so these two cancel out: a refund takes back what it takes from credits,
 * and what it leaves as a debt.
 */
const MEMBERS: Record<EntryKind, [member: Member, sign: 1 | -1]> = {
  earn: ['earned', 1],
  grant: ['granted', 1],
  redeem: ['redeemed', -1],
  return: ['returned', 1],
  take_back: ['taken_back', -1],
  debt: ['taken_back', 1],
  repay: ['taken_back', 1],
  void: ['voided', -1],
  debit: ['debited', -1],
  expire: ['expired', -1],
  // From one customer to another, at the same instant and of the same store.
  move_out: ['earned', 1],
  move_in: ['earned', 1],
};

/** Orders are not summed: with their counts, the report reads them. */
const MAX_DAYS_OF_SUMS = 366;

/** What the customers owned at the beginning and the end of a period, and why it changed, in centavos. */
export interface LedgerRow {
  stores: { store?: string | null; in_store?: string | null };
  from: string;
  to: string;
  cents: Record<Member, number>;
  /** Whether no entry can be added to it any more. */
  closed: boolean;
  /** Undefined if the report does not count orders. */
  counts?: OrderCounts;
}

export interface LedgerOptions extends Days {
  by?: LedgerBy;
  /** Whether orders and their customers are counted. */
  counts?: unknown;
}

/** Reports why what customers own changed, from the sums of its days and the entries that are not summed yet. */
export const LEDGER: Answer<LedgerOptions, LedgerReportDto> = async (asked) => {
  const { query } = asked;
  refuseDays(query, query.counts ? MAX_DAYS : MAX_DAYS_OF_SUMS);
  if (query.counts && query.by === 'store_pair')
    throw validationFailed([{ parameter: 'counts', detail: 'cannot be combined with by=store_pair' }]);
  const { rows, total } = await readLedger(asked);
  refuseMany(rows, 'by');
  const toDto = ({ cents, stores, from, to, closed, counts }: LedgerRow): LedgerReportDto['total'] => ({
    ...stores,
    ...{ from, to, ...amountsOf(cents), closed, ...counts },
  });
  return { data: rows.map(toDto), total: toDto(total) };
};

/**
 * Entries belong to the day of their `created_at` in the merchant's time zone. They never change and none is added to
 * the past, so the report of a closed period never changes either.
 */
export async function readLedger({
  manager,
  merchantId,
  query,
  timeZone,
}: Asked<LedgerOptions>): Promise<{ rows: LedgerRow[]; total: LedgerRow }> {
  const { summedUntil } = await manager.findOneByOrFail(LedgerPosition, { merchantId });
  const sums = await summedDays(manager, merchantId, query);
  const names = isByStore(query.by) ? undefined : (['store', 'kind'] as const);
  const rest = { from: summedUntil, to: startOfDay(query.to, timeZone) };
  sums.push(...(await LEDGER_SUMS.rest(manager, { id: merchantId, timeZone }, rest, names)));
  const counts = query.counts ? await countsOf(manager, merchantId, timeZone, query) : undefined;
  // A store that made orders has a row, even if it owes nothing.
  if (query.by === 'store') sums.push(...[...(counts?.keys() ?? [])].flatMap(emptySum));
  const isClosed = (to: string): boolean => startOfDay(to, timeZone) <= summedUntil;
  const all = counts && new Map([['0', counts.get(null) ?? NO_ORDERS]]);
  const [total] = rowsOf(sums, { ...query, by: undefined }, isClosed, all);
  return { rows: rowsOf(sums, query, isClosed, counts), total: total! };
}

type SumRow = Omit<Awaited<ReturnType<typeof LEDGER_SUMS.rest>>[number], 'entries'>;

/** Days before the period have an empty day; others that of their row. */
function summedDays(manager: EntityManager, merchantId: string, { from, to, by }: LedgerOptions): Promise<SumRow[]> {
  const day = { day: 'day', month: "GREATEST(CONCAT(LEFT(day, 7), '-01'), :from)" }[by as string] ?? ':from';
  const owner = isByStore(by) ? 'credit_store' : "''";
  const store = by === 'store_pair' ? 'store' : "''";
  return queryNamed<SumRow>(
    manager,
    `SELECT CASE WHEN day < :from THEN '' ELSE ${day} END AS day, ${store} AS store, ${owner} AS credit_store, kind, SUM(amount_cents) AS amount_cents
       FROM ledger_days WHERE merchant_id = :merchantId AND day < :to GROUP BY 1, 2, 3, 4`,
    { merchantId, from, to },
  );
}

type Counts = Map<string | null, OrderCounts>;

function countsOf(
  manager: EntityManager,
  merchantId: string,
  timeZone: string,
  options: LedgerOptions,
): Promise<Counts> {
  const days = [options.from, ...periodsOf(options).map(({ to }) => to)];
  const bounds = days.map((day) => startOfDay(day, timeZone));
  return countOrders(manager, merchantId, bounds, options.by === 'store');
}

const emptySum = (owner: string | null): SumRow[] =>
  owner === null ? [] : [{ day: '', store: '', credit_store: owner, kind: 'earn', amount_cents: 0 }];

const isByStore = (by?: LedgerBy): boolean => by === 'store' || by === 'store_pair';

/** Returns the rows of each store, with each of its periods after the one before. */
function rowsOf(
  sums: SumRow[],
  { from, to, by }: LedgerOptions,
  isClosed: (to: string) => boolean,
  counts?: Counts,
): LedgerRow[] {
  const storesOf = ({ credit_store: owner, store }: SumRow): LedgerRow['stores'] => ({
    ...(isByStore(by) && { store: owner || null }),
    ...(by === 'store_pair' && { in_store: store || null }),
  });
  const groups = new Map<string, { stores: LedgerRow['stores']; sums: SumRow[] }>();
  if (!isByStore(by)) groups.set('{}', { stores: {}, sums: [] });
  for (const sum of sums) {
    const stores = storesOf(sum);
    const key = JSON.stringify(stores);
    if (!groups.has(key)) groups.set(key, { stores, sums: [] });
    groups.get(key)!.sums.push(sum);
  }
  const sorted = [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
  const periods = periodsOf({ from, to, by });
  return sorted.flatMap(([, group]) => {
    const cents = { ...ZERO_CENTS };
    for (const sum of group.sums) if (sum.day < from) addTo(cents, sum);
    const rows = periods.map((period, at) => {
      const { closing, closing_debt } = cents;
      Object.assign(cents, ZERO_CENTS, { opening: closing, closing, closing_debt });
      for (const sum of group.sums) if (sum.day >= period.from && sum.day < period.to) addTo(cents, sum);
      const counted = counts && (counts.get(by === 'store' ? (group.stores.store ?? '') : String(at)) ?? NO_ORDERS);
      return { stores: group.stores, ...period, cents: { ...cents }, closed: isClosed(period.to), counts: counted };
    });
    const isEmpty = rows.every(
      ({ cents, counts: { orders } = NO_ORDERS }) => orders === 0 && Object.values(cents).every((one) => one === 0),
    );
    return isByStore(by) && isEmpty ? [] : rows;
  });
}

function periodsOf({ from, to, by }: LedgerOptions): Days[] {
  const periods: Days[] = [];
  for (let start = from; start < to;) {
    const next = by === 'day' ? addDays(start, 1) : by === 'month' ? firstOfNextMonth(start) : to;
    periods.push({ from: start, to: next < to ? next : to });
    start = next;
  }
  return periods;
}

function addTo(sums: Record<Member, number>, { kind, amount_cents: sum }: SumRow): void {
  const add = (member: Member, cents: number): void => void (sums[member] = exactCents(sums[member] + cents));
  const cents = exactCents(sum);
  const isDebt = kind === 'debt' || kind === 'repay';
  const [member, sign] = MEMBERS[kind as EntryKind];
  add(member, sign * cents);
  add('closing', isDebt ? -cents : cents);
  if (isDebt) add('closing_debt', cents);
}
