import { ofUnspent } from '../cashback/expiring.js';
import { type Answer, type Asked } from '../platform/database/reads.js';
import { queryNamed } from '../platform/database/rows.js';
import { amountsOf, exactCents } from '../platform/values/money.js';
import { validationFailed } from '../platform/values/problem.js';
import { addDays, after, DAY_MS, dayOf, startOfDay } from '../platform/values/time.js';
import { type LedgerRow, readLedger } from './ledger.report.js';
import { type OutstandingQueryDto, type OutstandingReportDto, type OutstandingRowDto } from './report.dto.js';
import { refuseMany } from './report.js';

/** The days from now of which `expiring_in_30_days` is the sum. */
const EXPIRING_DAYS = 30;

const ZERO_CENTS = { balance: 0, debt: 0, available: 0, pending: 0, held: 0, expiring_in_30_days: 0 };
type Cents = typeof ZERO_CENTS;

const sumOfFree = (condition: string): string => `SUM(IF(${condition}, c.remaining_cents - c.held_cents, 0))`;
const creditsBy = (store: string): string =>
  ofUnspent(`${store} AS store, 0 AS debt, SUM(c.held_cents) AS held, ${sumOfFree('c.available_at > :now')} AS pending,
    ${sumOfFree('c.available_at <= :now AND c.expires_at > :now')} AS available,
    ${sumOfFree('c.expires_at > :now AND c.expires_at <= :soon')} AS expiring_in_30_days`);
const DEBT = `
  SELECT '' AS store, SUM(debt_cents) AS debt, 0 AS held, 0 AS pending, 0 AS available, 0 AS expiring_in_30_days
    FROM wallets WHERE merchant_id = :merchantId`;

/** Reports what a merchant owes its customers, now or at the end of a day that is over. */
export const OUTSTANDING: Answer<OutstandingQueryDto, OutstandingReportDto> = async (asked) => {
  const { now, timeZone } = asked;
  const { as_of: day, by } = asked.query;
  if (day === undefined) return reportNow(asked);
  if (day >= dayOf(now, timeZone))
    throw validationFailed([{ parameter: 'as_of', detail: 'must be a day that is over' }]);
  const to = addDays(day, 1);
  const { rows, total } = await readLedger({ ...asked, query: { from: day, to, by } });
  const toRow = ({ stores, cents: { closing, closing_debt: debt } }: LedgerRow): Row => ({
    ...stores,
    cents: { balance: closing + debt, debt },
  });
  return reportOf(startOfDay(to, timeZone), rows.map(toRow), toRow(total).cents);
};

async function reportNow(asked: Asked<OutstandingQueryDto>): Promise<OutstandingReportDto> {
  const { manager, merchantId, now, query } = asked;
  const parameters = { merchantId, now, soon: after(now, EXPIRING_DAYS * DAY_MS) };
  const sql = `${creditsBy(query.by === 'store' ? "COALESCE(c.store, '')" : "''")} UNION ALL ${DEBT}`;
  const found = await queryNamed<Record<keyof Cents, string> & { store: string }>(manager, sql, parameters);
  const total = { ...ZERO_CENTS };
  const stores = new Map<string, Cents>();
  for (const row of found) {
    if (!stores.has(row.store)) stores.set(row.store, { ...ZERO_CENTS });
    for (const cents of [total, stores.get(row.store)!]) add(cents, row);
  }
  const rows = [...stores].map(([store, cents]) => ({ ...(query.by && { store: store || null }), cents }));
  return reportOf(now, rows, total);
}

type SomeCents = Pick<Cents, 'balance' | 'debt'> & Partial<Cents>;

interface Row {
  store?: string | null;
  cents: SomeCents;
}

/** In an order by name, after all stores. */
const LAST = '\u{10FFFF}';

function reportOf(asOf: Date, rows: Row[], total: SomeCents): OutstandingReportDto {
  const listed = rows.filter((row) => !('store' in row) || Object.values(row.cents).some((amount) => amount !== 0));
  refuseMany(listed, 'by');
  listed.sort((one, other) => ((one.store ?? LAST) < (other.store ?? LAST) ? -1 : 1));
  const toDto = ({ cents, ...store }: Row): OutstandingRowDto => ({ ...store, ...amountsOf(cents) });
  return { as_of: asOf, data: listed.map(toDto), total: toDto({ cents: total }) };
}

function add(sums: Cents, row: Record<keyof Cents, string>): void {
  for (const member of ['debt', 'available', 'pending', 'held', 'expiring_in_30_days'] as const)
    sums[member] = exactCents(sums[member] + exactCents(row[member]));
  sums.balance = sums.available + sums.pending + sums.held;
}
