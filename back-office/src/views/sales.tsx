import type { By, FrequentRow, SalesRow } from '@cashback/client';
import type { ComponentChildren, JSX } from 'preact';
import { addDays, count, dayFromToday, daysBetween, documentText, language, t } from '../format.js';
import { firstPage, useFilters, useLoad, useOnce } from '../hooks.js';
import { find } from '../search.js';
import { cashback, type Session } from '../session.js';
import { amount, counted } from '../columns.js';
import { type Column, PagedTable, Table } from '../table.js';
import { Await, by as nameOf, Chips, Day, Heading, InputError, Money, Problem, Section } from '../ui.js';
import { averageOf, Figures, type Measure, nameOfMeasure } from './figures.js';
import { type Days, Download, listOf, Period, refusalOf, startOf } from './period.js';

const KINDS = ['store', 'user', 'campaign', 'day'] as const;
type Kind = (typeof KINDS)[number];
const HEADS: Record<Kind, string> = {
  ...{ store: t.field.store, day: t.field.day, user: t.list.filter.user_id, campaign: t.list.filter.campaign_id },
};
export function Sales({ session }: { session: Session }): JSX.Element {
  const defaults = { from: dayFromToday(-29), to: dayFromToday(1), by: 'store' };
  const [{ from, to, by }, change] = useFilters(defaults);
  const refusal = refusalOf({ from, to });
  return (
    <>
      <Heading title={t.sales.title} />
      <Period from={from} to={to} onChange={change} />
      {refusal === undefined ? (
        <>
          <Figures from={from} to={to} />
          <Rows from={from} to={to} by={KINDS.find((kind) => kind === by) ?? 'store'} choose={(by) => change({ by })} />
          <Users from={from} to={to} />
          <Frequent from={from} to={to} session={session} />
        </>
      ) : (
        <Problem error={new InputError(refusal)} />
      )}
    </>
  );
}

/** @returns the addresses of the orders and the refunds of a period */
const ordersOf = ({ from, to }: Days, filter: Record<string, string | null> = {}): string =>
  listOf('orders', { completed_from: from, completed_to: to, ...filter });
const createdOf = (name: string, { from, to }: Days, filter: Record<string, string | null> = {}): string =>
  listOf(name, { created_from: from, created_to: to, ...filter });
const userOf = (by: By): Record<string, string> => ({ user_id: by.user_id ?? 'operator', label: nameOf(by) });

/** The sums of each day, store, user or campaign; their numbers lead to the orders and refunds that lists can have. */
function Rows({ from, to, by, choose }: Days & { by: Kind; choose: (by: Kind) => void }): JSX.Element {
  const query = { from, to, by };
  const loaded = useLoad(
    async (signal) => {
      const campaigns = new Map<string, string>();
      const report = await cashback.reports.sales(query, { signal });
      if (report.data.some(({ campaign_id: id }) => id))
        for await (const { id, name } of cashback.campaigns.list({ limit: 100 }, { signal })) campaigns.set(id, name);
      // What is shown can be of the choice before, for a moment.
      return { ...report, campaigns, of: by };
    },
    [from, to, by],
  );
  return (
    <Section
      title={t.sales.title + ', ' + t.sales.by[by].toLowerCase()}
      actions={
        <Download
          label={t.period.csv}
          name={`sales-${from}-${to}`}
          read={() => cashback.reports.csv('sales', query, language)}
        />
      }
    >
      <Chips label={t.sales.title} options={KINDS.map((kind) => [kind, t.sales.by[kind]])} at={by} choose={choose} />
      <Await of={loaded} lines={8}>
        {({ data, total, campaigns, of }) => (
          <Table
            caption={t.sales.by[of]}
            columns={columnsOf(of, total, campaigns)}
            rows={of === 'day' ? [...data].reverse() : data}
            foot={total}
            empty={t.sales.none}
          />
        )}
      </Await>
    </Section>
  );
}

function columnsOf(by: Kind, total: SalesRow, campaigns: Map<string, string>): Column<SalesRow>[] {
  const key = (row: SalesRow): ComponentChildren => {
    if (row === total) return t.order.total;
    if (by === 'day') return <Day of={row.from} />;
    if (by === 'store') return row.store ?? t.noStore;
    if (by === 'user') return nameOf(row.by!);
    return row.campaign_id ? (campaigns.get(row.campaign_id) ?? row.campaign_id) : t.sales.noCampaign;
  };
  /** What the lists can be filtered by; undefined where there is no filter, such as for orders without a store. */
  const filterOf = (row: SalesRow): Record<string, string> | undefined => {
    if (row === total || by === 'day') return {};
    if (by === 'user') return userOf(row.by!);
    const value = by === 'store' ? row.store : row.campaign_id;
    return value ? { [by === 'store' ? 'store' : 'campaign_id']: value } : undefined;
  };
  const amount = (name: Exclude<Measure, 'orders'> | 'paid', isLead = false): Column<SalesRow> => ({
    ...{ head: name === 'paid' ? t.sales.paid : nameOfMeasure(name), isNumber: true, isLead },
    cell: (row) => <Money of={row[name]} />,
  });
  return [
    { head: HEADS[by], cell: key, isLead: true },
    {
      ...{ head: t.sales.orders, isNumber: true },
      cell: (row) => {
        const filter = filterOf(row);
        return counted(row.orders, filter && ordersOf(row, filter));
      },
    },
    amount('total', true),
    amount('paid'),
    amount('redeemed'),
    amount('earned'),
    {
      ...{ head: t.list.names.refunds, isNumber: true },
      cell: (row) => {
        // The list of refunds has no filter by store or campaign.
        const filter = by === 'store' || by === 'campaign' ? (row === total ? {} : undefined) : filterOf(row);
        return counted(row.refunds, filter && createdOf('refunds', row, filter));
      },
    },
    amount('refunded'),
  ];
}

interface User {
  by: By;
  sales?: SalesRow;
  grants: number;
  debits: number;
}

/** What each user did. Of debits there is no report, so the first page of them is counted. */
function Users({ from, to }: Days): JSX.Element {
  const users = useLoad(
    async (signal) => {
      const [sales, grants, debits] = await Promise.all([
        cashback.reports.sales({ from, to, by: 'user' }, { signal }),
        cashback.reports.grants({ from, to }, { signal }),
        firstPage(
          cashback.debits.list({ created_from: startOf(from), created_to: startOf(to), limit: 100 }, { signal }),
        ),
      ]);
      const all = new Map<string | null, User>();
      const of = (by: By): User => {
        const user = all.get(by.user_id) ?? { by, grants: 0, debits: 0 };
        all.set(by.user_id, user);
        return user;
      };
      for (const row of sales.data) of(row.by!).sales = row;
      for (const row of grants.data) of(row.by).grants += row.grants;
      for (const { created_by } of debits.data) of(created_by).debits++;
      const rows = [...all.values()].sort((a, b) => (b.sales?.orders ?? 0) - (a.sales?.orders ?? 0));
      return { rows, isLeast: debits.next_cursor !== null };
    },
    [from, to],
  );
  const days = { from, to };
  const columns = (isLeast: boolean): Column<User>[] => [
    { head: t.list.filter.user_id, cell: ({ by }) => nameOf(by), isLead: true },
    {
      ...{ head: t.sales.orders, isNumber: true, isLead: true },
      cell: ({ by, sales }) => counted(sales?.orders ?? 0, ordersOf(days, userOf(by))),
    },
    {
      ...{ head: t.sales.average, isNumber: true },
      cell: ({ sales }) => <Money of={sales ? averageOf(sales) : '0.00'} />,
    },
    {
      ...{ head: t.list.names.refunds, isNumber: true },
      cell: ({ by, sales }) => counted(sales?.refunds ?? 0, createdOf('refunds', days, userOf(by))),
    },
    amount(t.sales.refunded, ({ sales }) => sales?.refunded ?? '0.00'),
    {
      ...{ head: t.list.names.grants, isNumber: true },
      cell: ({ by, grants }) => counted(grants, createdOf('grants', days, userOf(by))),
    },
    {
      ...{ head: t.list.names.debits, isNumber: true },
      cell: ({ by, debits }) => counted(debits, createdOf('debits', days, userOf(by)), isLeast),
    },
  ];
  return (
    <Section title={t.sales.who} text={t.sales.whoText}>
      <Await of={users} lines={4}>
        {({ rows, isLeast }) => (
          <Table caption={t.sales.who} columns={columns(isLeast)} rows={rows} empty={t.sales.nobody} />
        )}
      </Await>
    </Section>
  );
}

const MOST_DAYS = 31;

function Frequent({ from, to, session }: Days & { session: Session }): JSX.Element {
  const isLong = daysBetween(from, to) > MOST_DAYS;
  const days = { from: isLong ? addDays(to, -MOST_DAYS) : from, to };
  return (
    <Section title={t.sales.frequent} text={isLong ? t.sales.frequentLast : t.sales.frequentText}>
      <PagedTable
        caption={t.sales.frequent}
        columns={frequentColumns(session)}
        list={(signal) => cashback.reports.frequent({ ...days, at_least: 3 }, { signal })}
        on={[days.from, to]}
        empty={t.sales.noFrequent}
      />
    </Section>
  );
}

/** A report has no ID of the customer, and an address no document: the button finds the customer. */
function Open({ document, session }: { document: string; session: Session }): JSX.Element {
  const { error, run } = useOnce(async () => {
    const href = await find(document, session);
    if (href !== null) location.hash = href;
  });
  return (
    <>
      <button class="link document" onClick={run}>
        {documentText(document)}
      </button>
      {error !== undefined && <Problem error={error} />}
    </>
  );
}

const frequentColumns = (session: Session): Column<FrequentRow>[] => [
  { head: t.field.day, cell: (row) => <Day of={row.day} /> },
  {
    head: t.field.document,
    cell: ({ document }) => <Open document={document} session={session} />,
    isLead: true,
  },
  {
    head: t.list.completedBy,
    cell: ({ completed_by }) => completed_by.map((user) => `${nameOf(user)} (${count(user.orders)})`).join(', '),
  },
  { head: t.measure.orders, cell: ({ orders }) => count(orders), isNumber: true },
  amount(t.order.total, ({ total }) => total, true),
];

export const salesView = (session: Session): JSX.Element => <Sales session={session} />;
