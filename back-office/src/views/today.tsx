import type { CustomerCredit, FrequentRow, GrantsRow, LedgerRow } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { addDays, count, day, dayFromToday, documentText, money, t } from '../format.js';
import { useLoad, useOnce } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { Await, by, Chart, type Column, Money, PagedTable, Problem, Section, Table, Tile } from '../ui.js';
import { find } from './find.js';

const MEASURES = ['orders', 'earned', 'redeemed', 'granted', 'expired'] as const;
type Measure = (typeof MEASURES)[number];

export function Today({ session }: { session: Session }): JSX.Element {
  const today = dayFromToday(0);
  const month = { from: dayFromToday(-29), to: dayFromToday(1) };
  const days = useLoad((signal) => withOrders({ ...month, by: 'day' }, signal), [today]);
  const stores = useLoad((signal) => withOrders({ ...month, by: 'store' }, signal), [today]);
  const owed = useLoad((signal) => cashback.reports.outstanding({}, { signal }), [today]);
  const grants = useLoad((signal) => cashback.reports.grants(month, { signal }), [today]);
  return (
    <>
      <h1>{t.today.title}</h1>
      <Await of={owed} lines={2}>
        {({ total }) => (
          <dl class="tiles">
            <Tile name={t.today.owed} amount={total.balance}>
              {total.debt !== '0.00' && t.today.owedHint}
            </Tile>
            {total.available && <Tile name={t.customer.available} amount={total.available} />}
            {total.expiring_in_30_days && <Tile name={t.today.expiring30} amount={total.expiring_in_30_days} />}
            <Tile name={t.customer.debt} amount={total.debt} />
          </dl>
        )}
      </Await>
      <Await of={days} lines={8}>
        {(rows) => <Days rows={rows} />}
      </Await>
      <Section title={t.today.stores}>
        <Await of={stores}>{(rows) => <Table caption={t.today.stores} columns={storeColumns} rows={rows} />}</Await>
      </Section>
      <Section title={t.today.frequent} text={t.today.frequentText}>
        <PagedTable
          caption={t.today.frequent}
          columns={frequentColumns(session)}
          list={(signal) => cashback.reports.frequent({ ...month, at_least: 3 }, { signal })}
          on={[today]}
        />
      </Section>
      <Section title={t.today.grants}>
        <Await of={grants}>{({ data }) => <Table caption={t.today.grants} columns={grantColumns} rows={data} />}</Await>
      </Section>
      <Section title={t.today.expiring}>
        <PagedTable
          caption={t.today.expiring}
          columns={creditColumns}
          list={(signal) => cashback.credits.list({ expires_from: today, expires_to: addDays(today, 7) }, { signal })}
          on={[today]}
        />
      </Section>
    </>
  );
}

interface Day extends LedgerRow {
  orders: number;
}

/** The ledger by day or store, with the orders of each. */
async function withOrders(
  query: { from: string; to: string; by: 'day' | 'store' },
  signal: AbortSignal,
): Promise<Day[]> {
  const [ledger, sales] = await Promise.all([
    cashback.reports.ledger(query, { signal }),
    cashback.reports.sales(query, { signal }),
  ]);
  const key = (row: { from: string; store?: string | null }): string => JSON.stringify([row.from, row.store]);
  const orders = new Map(sales.data.map((row) => [key(row), row.orders]));
  return ledger.data.map((row) => ({ ...row, orders: orders.get(key(row)) ?? 0 }));
}

function Days({ rows }: { rows: Day[] }): JSX.Element {
  const [measure, set] = useState<Measure>('orders');
  const textOf = (row: Day): string => (measure === 'orders' ? count(row.orders) : money(row[measure]));
  return (
    <Section title={t.today.days}>
      <>
        <p class="buttons" role="group" aria-label={t.today.days}>
          {MEASURES.map((name) => (
            <button key={name} aria-pressed={measure === name} onClick={() => set(name)}>
              {t.measure[name]}
            </button>
          ))}
        </p>
        <Chart
          caption={t.measure[measure]}
          bars={rows.map((row) => ({ name: day(row.from), value: Number(row[measure]), text: textOf(row) }))}
        />
        <details>
          <summary>{t.today.table}</summary>
          <Table caption={t.today.days} columns={dayColumns} rows={[...rows].reverse()} />
        </details>
      </>
    </Section>
  );
}

/** The columns of a ledger's amounts. */
export const amountColumns = (...names: Exclude<keyof typeof t.measure, 'orders'>[]): Column<LedgerRow>[] =>
  names.map((name) => ({ head: t.measure[name], cell: (row) => <Money of={row[name]} />, isNumber: true }));

const measureColumns: Column<Day>[] = [
  { head: t.measure.orders, cell: ({ orders }) => count(orders), isNumber: true },
  ...amountColumns('earned', 'redeemed', 'granted', 'expired'),
];
const dayColumns: Column<Day>[] = [{ head: t.field.day, cell: ({ from }) => day(from) }, ...measureColumns];
const storeColumns: Column<Day>[] = [
  { head: t.field.store, cell: ({ store }) => store ?? t.noStore },
  ...measureColumns,
  { head: t.measure.closing, cell: ({ closing }) => <Money of={closing} />, isNumber: true },
];

/** A report has no ID of the customer, and an address no document: the button finds the customer. */
function Open({ document, session }: { document: string; session: Session }): JSX.Element {
  const { error, run } = useOnce(() => find(document, session));
  return (
    <>
      <button class="link" onClick={run}>
        {documentText(document)}
      </button>
      {error !== undefined && <Problem error={error} />}
    </>
  );
}

const frequentColumns = (session: Session): Column<FrequentRow>[] => [
  { head: t.field.day, cell: (row) => day(row.day) },
  { head: t.field.document, cell: ({ document }) => <Open document={document} session={session} /> },
  { head: t.measure.orders, cell: ({ orders }) => count(orders), isNumber: true },
  { head: t.order.total, cell: ({ total }) => <Money of={total} />, isNumber: true },
  {
    head: t.field.by,
    cell: ({ completed_by }) => completed_by.map((user) => `${by(user)} (${count(user.orders)})`).join(', '),
  },
];

const grantColumns: Column<GrantsRow>[] = [
  { head: t.field.by, cell: (row) => by(row.by) },
  { head: t.field.reason, cell: ({ reason }) => reason ?? '–' },
  { head: t.today.grantCount, cell: ({ grants }) => count(grants), isNumber: true },
  { head: t.field.amount, cell: ({ amount }) => <Money of={amount} />, isNumber: true },
  { head: t.today.voided, cell: ({ voided }) => <Money of={voided} />, isNumber: true },
];

const creditColumns: Column<CustomerCredit>[] = [
  { head: t.customer.expiresOn, cell: ({ expires_on }) => day(expires_on) },
  {
    head: t.field.document,
    cell: (credit) => <a href={`#/customer/${credit.wallet_id}`}>{documentText(credit.document)}</a>,
  },
  { head: t.customer.remaining, cell: ({ remaining }) => <Money of={remaining} />, isNumber: true },
  { head: t.entry.source, cell: ({ source }) => source.reason ?? source.external_id },
  { head: t.field.store, cell: ({ store }) => store ?? '–' },
];
