import { type EntryKind } from '../cashback/entry.entity.js';
import { LEDGER_SUMS } from '../cashback/sums.js';
import { SALES_SUMS } from '../orders/sums.js';
import { type Answer, type Asked } from '../platform/database/reads.js';
import { amountsOf, exactCents } from '../platform/values/money.js';
import { startOfDay } from '../platform/values/time.js';
import { type LedgerBy, type LedgerReportDto } from './report.dto.js';
import { addUp, type Days, MAX_DAYS_OF_SUMS, periodsOf, readSums, refuseDays, refuseMany } from './report.js';

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

/** What the customers owned at the beginning and the end of a period, and why it changed, in centavos. */
export interface LedgerRow {
  stores: { store?: string | null; in_store?: string | null };
  from: string;
  to: string;
  cents: Record<Member, number>;
  /** Whether no entry can be added to it any more. */
  closed: boolean;
  /** How many orders were completed late. */
  late: number;
}

export interface LedgerOptions extends Days {
  by?: LedgerBy;
}

/** Reports why what customers own changed, from the sums of its days and the entries that are not summed yet. */
export const LEDGER: Answer<LedgerOptions, LedgerReportDto> = async (asked) => {
  const { by } = asked.query;
  refuseDays(asked.query, MAX_DAYS_OF_SUMS);
  const names = by === 'store' ? (['store'] as const) : [];
  const { rows: late } = await readSums(asked, [SALES_SUMS], names);
  const { rows, total } = await readLedger(asked, late);
  refuseMany(rows, 'by');
  const toDto = ({ cents, stores, from, to, closed, late }: LedgerRow): LedgerReportDto['total'] => ({
    ...stores,
    ...{ from, to, ...amountsOf(cents), closed, late },
  });
  // An order has one store.
  const withoutLate = ({ late: _, ...row }: LedgerReportDto['total']): LedgerReportDto['total'] => row;
  return { data: rows.map(toDto).map((row) => (by === 'store_pair' ? withoutLate(row) : row)), total: toDto(total) };
};

/**
 * Entries belong to the day of their `created_at` in the merchant's time zone. They never change and none is added to
 * the past, so the report of a closed period never changes either.
 */
export async function readLedger(
  asked: Asked<LedgerOptions>,
  sales: readonly Late[] = [],
): Promise<{ rows: LedgerRow[]; total: LedgerRow }> {
  const { query, timeZone } = asked;
  const names = { store: ['credit_store'] as const, store_pair: ['store', 'credit_store'] as const }[
    query.by as string
  ];
  const { rows: sums, summedUntil } = await readSums(asked, [LEDGER_SUMS], [...(names ?? []), 'kind'], true);
  const isClosed = (to: string): boolean => startOfDay(to, timeZone) <= summedUntil;
  const [total] = rowsOf(sums, sales, { ...query, by: undefined }, isClosed);
  return { rows: rowsOf(sums, sales, query, isClosed), total: total! };
}

type SumRow = Awaited<ReturnType<typeof LEDGER_SUMS.rest>>[number];
type Late = Pick<Awaited<ReturnType<typeof SALES_SUMS.rest>>[number], 'day' | 'store' | 'late_orders'>;

const isByStore = (by?: LedgerBy): boolean => by === 'store' || by === 'store_pair';

/** Returns the rows of each store, with each of its periods after the one before. */
function rowsOf(
  sums: readonly SumRow[],
  sales: readonly Late[],
  { from, to, by }: LedgerOptions,
  isClosed: (to: string) => boolean,
): LedgerRow[] {
  const storesOf = (owner: string, store: string): LedgerRow['stores'] => ({
    ...(isByStore(by) && { store: owner || null }),
    ...(by === 'store_pair' && { in_store: store || null }),
  });
  const groups = new Map<string, { stores: LedgerRow['stores']; sums: SumRow[]; sales: Late[] }>();
  const groupOf = (stores: LedgerRow['stores']): { sums: SumRow[]; sales: Late[] } => {
    const key = JSON.stringify(stores);
    if (!groups.has(key)) groups.set(key, { stores, sums: [], sales: [] });
    return groups.get(key)!;
  };
  if (!isByStore(by)) groupOf({});
  for (const sum of sums) groupOf(storesOf(sum.credit_store, sum.store)).sums.push(sum);
  if (by !== 'store_pair') for (const sale of sales) groupOf(storesOf(sale.store, '')).sales.push(sale);
  const sorted = [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
  const periods = periodsOf({ from, to, by });
  return sorted.flatMap(([, group]) => {
    const cents = { ...ZERO_CENTS };
    for (const sum of group.sums) if (sum.day < from) addTo(cents, sum);
    const rows = periods.map((period) => {
      const { closing, closing_debt } = cents;
      const isIn = ({ day }: { day: string }): boolean => day >= period.from && day < period.to;
      Object.assign(cents, ZERO_CENTS, { opening: closing, closing, closing_debt });
      for (const sum of group.sums) if (isIn(sum)) addTo(cents, sum);
      const { late_orders: late } = addUp(group.sales.filter(isIn), ['late_orders']);
      return { stores: group.stores, ...period, cents: { ...cents }, closed: isClosed(period.to), late };
    });
    const isEmpty = rows.every(({ cents, late }) => late === 0 && Object.values(cents).every((one) => one === 0));
    return isByStore(by) && isEmpty ? [] : rows;
  });
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
