import { hasManyCredits, ofUnspent } from '../cashback/expiring.js';
import { type Answer, type Asked } from '../platform/database/reads.js';
import { queryNamed } from '../platform/database/rows.js';
import { groupBy } from '../platform/values/group-by.js';
import { amountsOf } from '../platform/values/money.js';
import { validationFailed } from '../platform/values/problem.js';
import { addDays, after, DAY_MS, dayOf, startOfDay } from '../platform/values/time.js';
import { type LedgerRow, readLedger } from './ledger.report.js';
import { type OutstandingQueryDto, type OutstandingReportDto, type OutstandingRowDto } from './report.dto.js';
import { addUp, refuseMany } from './report.js';

/** The days from now of which `expiring_in_30_days` is the sum. */
const EXPIRING_DAYS = 30;

/** What credits say of now, and no sum does. */
const LIVE = ['available', 'pending', 'held', 'expiring_in_30_days'] as const;

const sumOfFree = (condition: string): string => `SUM(IF(${condition}, c.remaining_cents - c.held_cents, 0))`;
const creditsBy = (store: string): string =>
  ofUnspent(`${store} AS store, SUM(c.held_cents) AS held, ${sumOfFree('c.available_at > :now')} AS pending,
    ${sumOfFree('c.available_at <= :now AND c.expires_at > :now')} AS available,
    ${sumOfFree('c.expires_at > :now AND c.expires_at <= :soon')} AS expiring_in_30_days`);

/** Reports what a merchant owes its customers, now or at the end of a day that is over. */
export const OUTSTANDING: Answer<OutstandingQueryDto, OutstandingReportDto> = async (asked) => {
  const { now, timeZone } = asked;
  const { as_of: day, by } = asked.query;
  const today = dayOf(now, timeZone);
  if (day !== undefined && day >= today)
    throw validationFailed([{ parameter: 'as_of', detail: 'must be a day that is over' }]);
  // The clock of the instance that wrote an entry can be ahead.
  const last = day ?? addDays(today, 1);
  const { rows, total } = await readLedger({ ...asked, query: { from: last, to: addDays(last, 1), by } });
  const toRow = ({ stores, cents: { closing, closing_debt: debt } }: LedgerRow): Row => ({
    ...stores,
    cents: { balance: closing + debt, debt },
  });
  const owed = rows.map(toRow);
  if (day !== undefined) return reportOf(startOfDay(addDays(day, 1), timeZone), owed, toRow(total).cents);
  const live = await readLive(asked);
  const withLive = (row: Row, own: readonly LiveRow[] = []): Row => ({
    ...row,
    cents: { ...row.cents, ...(live === undefined ? UNKNOWN : addUp(own, LIVE)) },
  });
  const byStore = groupBy(live ?? [], ({ store }) => store);
  for (const store of byStore.keys())
    if (by !== undefined && !owed.some((row) => (row.store ?? '') === store))
      owed.push({ store: store || null, cents: NOTHING });
  const all = owed.map((row) => withLive(row, by === undefined ? live : byStore.get(row.store ?? '')));
  return reportOf(now, all, withLive(toRow(total), live).cents);
};

type LiveRow = Record<(typeof LIVE)[number], string> & { store: string };

const NOTHING = { balance: 0, debt: 0 };
const UNKNOWN = { available: null, pending: null, held: null, expiring_in_30_days: null };

/** @returns undefined if there are too many open credits to read. */
async function readLive(asked: Asked<OutstandingQueryDto>): Promise<LiveRow[] | undefined> {
  const { manager, merchantId, now, query } = asked;
  if (await hasManyCredits(manager, merchantId)) return undefined;
  const sql = creditsBy(query.by === 'store' ? "COALESCE(c.store, '')" : "''");
  return queryNamed<LiveRow>(manager, sql, { merchantId, now, soon: after(now, EXPIRING_DAYS * DAY_MS) });
}

type SomeCents = Record<'balance' | 'debt', number> & Partial<Record<(typeof LIVE)[number], number | null>>;

interface Row {
  store?: string | null;
  cents: SomeCents;
}

/** In an order by name, after all stores. */
const LAST = '\u{10FFFF}';

function reportOf(asOf: Date, rows: Row[], total: SomeCents): OutstandingReportDto {
  const listed = rows.filter(
    (row) => !('store' in row) || Object.values(row.cents).some((amount) => amount !== 0 && amount !== null),
  );
  refuseMany(listed, 'by');
  listed.sort((one, other) => ((one.store ?? LAST) < (other.store ?? LAST) ? -1 : 1));
  const toDto = ({ cents, ...store }: Row): OutstandingRowDto => ({ ...store, ...amountsOf(cents) });
  return { as_of: asOf, data: listed.map(toDto), total: toDto({ cents: total }) };
}
