import type { CustomerCredit, LedgerRow } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Chart } from '../chart.js';
import { addDays, count, day, dayFromToday, documentText, money, t } from '../format.js';
import { address, useLoad } from '../hooks.js';
import { seen } from '../search.js';
import { cashback, type Session } from '../session.js';
import { type Column, PagedTable, Table } from '../table.js';
import { Await, Day, Heading, Money, Section, Tile } from '../ui.js';

const MEASURES = ['orders', 'earned', 'redeemed', 'granted', 'expired'] as const;
type Measure = (typeof MEASURES)[number];
const DAYS = 30;

export function Home({ session }: { session: Session }): JSX.Element {
  return (
    <>
      <Heading title={t.home.title} />
      {session.can('reports') ? <Figures /> : <Beginning />}
    </>
  );
}

/** For those who only serve customers: what they looked at, and where to begin. */
const Beginning = (): JSX.Element => (
  <>
    <p>{t.home.begin}</p>
    {seen().length > 0 && (
      <Section title={t.home.seen}>
        <ul>
          {seen().map(({ href, label }) => (
            <li key={href}>
              <a href={href}>{label}</a>
            </li>
          ))}
        </ul>
      </Section>
    )}
  </>
);

function Figures(): JSX.Element {
  const today = dayFromToday(0);
  const days = useLoad(
    (signal) => withOrders({ from: dayFromToday(1 - 2 * DAYS), to: dayFromToday(1), by: 'day' }, signal),
    [today],
  );
  const stores = useLoad(
    (signal) => withOrders({ from: dayFromToday(1 - DAYS), to: dayFromToday(1), by: 'store' }, signal),
    [today],
  );
  const owed = useLoad((signal) => cashback.reports.outstanding({}, { signal }), [today]);
  return (
    <>
      <Await of={owed} lines={3}>
        {({ total }) => (
          <dl class="tiles">
            <Tile name={t.home.owed} amount={total.balance}>
              {total.debt !== '0.00' && t.home.owedHint}
            </Tile>
            {total.available && <Tile name={t.customer.available} amount={total.available} />}
            {total.pending && <Tile name={t.customer.pending} amount={total.pending} />}
            {total.expiring_in_30_days && <Tile name={t.home.expiring30} amount={total.expiring_in_30_days} />}
            <Tile name={t.customer.debt} amount={total.debt} />
          </dl>
        )}
      </Await>
      <Await of={days} lines={10}>
        {(rows) => <Days rows={rows.slice(-DAYS)} before={rows.slice(0, -DAYS)} />}
      </Await>
      <Section
        title={t.home.stores}
        actions={
          <a class="button" href={address('sales')}>
            {t.sales.title}
          </a>
        }
      >
        <Await of={stores}>
          {(rows) => <Table caption={t.home.stores} columns={storeColumns} rows={rows} empty={t.home.noSales} />}
        </Await>
      </Section>
      <Section
        title={t.home.expiring}
        actions={
          <a class="button" href={address('list/credits', { expires_from: today, expires_to: addDays(today, 30) })}>
            {t.home.expiring30}
          </a>
        }
      >
        <PagedTable
          caption={t.home.expiring}
          columns={creditColumns}
          list={(signal) => cashback.credits.list({ expires_from: today, expires_to: addDays(today, 7) }, { signal })}
          on={[today]}
          empty={t.home.noExpiring}
        />
      </Section>
    </>
  );
}

interface Row extends LedgerRow {
  orders: number;
}

/** The ledger by day or store, with the orders of each. */
async function withOrders(
  query: { from: string; to: string; by: 'day' | 'store' },
  signal: AbortSignal,
): Promise<Row[]> {
  const [ledger, sales] = await Promise.all([
    cashback.reports.ledger(query, { signal }),
    cashback.reports.sales(query, { signal }),
  ]);
  const key = (row: { from: string; store?: string | null }): string => JSON.stringify([row.from, row.store]);
  const orders = new Map(sales.data.map((row) => [key(row), row.orders]));
  return ledger.data.map((row) => ({ ...row, orders: orders.get(key(row)) ?? 0 }));
}

function Days({ rows, before }: { rows: Row[]; before: Row[] }): JSX.Element {
  const [measure, set] = useState<Measure>('orders');
  const textOf = (row: Row): string => (measure === 'orders' ? count(row.orders) : money(row[measure]));
  const bars = rows.map((row, index) => {
    const earlier = before[index];
    return {
      ...{ name: day(row.from), value: Number(row[measure]), text: textOf(row) },
      ...(earlier && { before: { value: Number(earlier[measure]), text: textOf(earlier) } }),
    };
  });
  return (
    <Section title={t.home.days}>
      <p class="buttons" role="group" aria-label={t.home.days}>
        {MEASURES.map((name) => (
          <button key={name} class="chip" aria-pressed={measure === name} onClick={() => set(name)}>
            {t.measure[name]}
          </button>
        ))}
      </p>
      <Chart caption={t.measure[measure]} bars={bars} legend={t.home.compared} />
    </Section>
  );
}

const amount = (name: 'earned' | 'redeemed' | 'granted' | 'expired' | 'closing'): Column<Row> => ({
  head: t.measure[name],
  cell: (row) => <Money of={row[name]} />,
  isNumber: true,
});

const storeColumns: Column<Row>[] = [
  { head: t.field.store, cell: ({ store }) => store ?? t.noStore, isLead: true },
  { head: t.measure.orders, cell: ({ orders }) => count(orders), isNumber: true },
  ...(['earned', 'redeemed', 'granted', 'expired'] as const).map(amount),
  { ...amount('closing'), isLead: true },
];

const creditColumns: Column<CustomerCredit>[] = [
  { head: t.customer.expiresOn, cell: ({ expires_on }) => <Day of={expires_on} /> },
  {
    head: t.field.document,
    cell: (credit) => <a href={address(`customer/${credit.wallet_id}`)}>{documentText(credit.document)}</a>,
    isLead: true,
  },
  { head: t.entry.source, cell: ({ source }) => source.reason ?? source.external_id },
  { head: t.field.store, cell: ({ store }) => store ?? '–' },
  { head: t.customer.remaining, cell: ({ remaining }) => <Money of={remaining} />, isNumber: true, isLead: true },
];
