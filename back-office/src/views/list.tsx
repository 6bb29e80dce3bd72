import type { Customer, CustomerCredit, CustomerEntry, Debit, Grant, Order, Refund } from '@cashback/client';
import type { ComponentChildren, JSX } from 'preact';
import { documentText, isDay, language, money, t } from '../format.js';
import { address, type Paged, useFilters, useLoad } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { amount, customer, customerAt, note, onDay, OrderLink, reason, store, when, who, text } from '../columns.js';
import { type Column, PagedTable } from '../table.js';
import { Badge, by, Day, Heading, InputError, Money, OrderBadge, Problem, Tabs, kindText } from '../ui.js';
import { asDay, Download, Period, startOf, whole } from './period.js';

type Query = Record<string, string>;
type About = keyof typeof t.list.periods;
type FilterName = keyof typeof t.list.filter;

/** One list of the API: what it can be filtered by, and its columns. */
interface Of<T> {
  /** What its period can be about; the first, unless the address has another one. */
  periods: About[];
  filters: FilterName[];
  /** Whether the API takes only one of them at a time. */
  isExclusive?: boolean;
  columns: Column<T>[];
  read: (query: Query, options: { signal: AbortSignal }) => Paged<T>;
}

const created: Column<{ created_at: string }> = when((row) => row.created_at);
const creator: Column<Pick<Grant, 'created_by'>> = who((row) => row.created_by);
const undone = (at: string | null): ComponentChildren => at && <Badge tone="off" text={t.list.undone} />;

/** @returns the same for a table that has lists of all kinds */
const list = <T,>(of: Of<T>): Of<unknown> => of as unknown as Of<unknown>;

const LISTS = {
  orders: list<Order>({
    periods: ['completed', 'created'],
    filters: ['store', 'status', 'user_id', 'campaign_id'],
    isExclusive: true,
    columns: [
      { head: t.list.order, cell: ({ id, external_id }) => <OrderLink id={id} number={external_id} />, isLead: true },
      { head: t.field.status, cell: ({ status }) => <OrderBadge status={status} /> },
      when(({ created_at }) => created_at, t.timeline.created),
      when(({ completed_at }) => completed_at, t.timeline.completed),
      store,
      { head: t.list.completedBy, cell: ({ completed_by }) => by(completed_by) },
      { head: t.field.document, cell: (order) => <span class="document">{documentText(order.document)}</span> },
      { head: t.order.used, cell: ({ cashback: { to_redeem } }) => <Money of={to_redeem.redeemed} />, isNumber: true },
      amount(t.order.total, (row) => row.total, true),
    ],
    read: (query, options) => cashback.orders.list(query, options),
  }),
  refunds: list<Refund>({
    periods: ['created'],
    filters: ['user_id'],
    columns: [
      {
        head: t.list.order,
        cell: ({ order_id, order_external_id }) => <OrderLink id={order_id} number={order_external_id} />,
        isLead: true,
      },
      created,
      creator,
      store,
      { head: t.field.reason, cell: (row) => undone(row.voided_at) ?? row.reason ?? '–' },
      amount(t.refund.returnedShort, (row) => row.cashback_returned),
      amount(t.measure.taken_back, (row) => row.cashback_taken_back),
      amount(t.field.amount, (row) => row.amount, true),
    ],
    read: (query, options) => cashback.refunds.listAll(query, options),
  }),
  grants: list<Grant>({
    periods: ['created'],
    filters: ['user_id'],
    columns: [
      created,
      customer,
      reason,
      note,
      creator,
      store,
      onDay(t.customer.expiresOn, ({ expires_on }) => expires_on),
      amount(t.customer.remaining, (row) => row.remaining),
      amount(t.measure.voided, (row) => row.voided),
      amount(t.field.amount, (row) => row.amount, true),
    ],
    read: (query, options) => cashback.grants.list(query, options),
  }),
  debits: list<Debit>({
    periods: ['created'],
    filters: ['user_id'],
    columns: [
      created,
      customer,
      reason,
      note,
      creator,
      store,
      amount(t.list.restored, (row) => row.restored),
      amount(t.field.amount, (row) => row.amount, true),
    ],
    read: (query, options) => cashback.debits.list(query, options),
  }),
  entries: list<CustomerEntry>({
    periods: ['created'],
    filters: ['kind', 'store'],
    columns: [
      created,
      text(t.entry.kind, ({ kind, amount }) => kindText(kind, amount)),
      // What expired can be granted again there.
      customerAt(({ kind, wallet_id: id }) =>
        kind === 'expire' ? address(`customer/${id}/credits`, { credits: 'all' }) : address(`customer/${id}`),
      ),
      {
        head: t.entry.source,
        cell: ({ order_id, order_external_id, source, reason }) => {
          if (order_id) return <OrderLink id={order_id} number={order_external_id} />;
          if (source?.type === 'order') return <OrderLink id={source.id} number={source.external_id} />;
          return reason ?? (source ? t.entry.grant : '–');
        },
      },
      store,
      who((row) => row.by),
      amount(t.field.amount, (row) => row.amount, true),
    ],
    read: (query, options) => cashback.entries.list(query, options),
  }),
  credits: list<CustomerCredit>({
    periods: ['expires'],
    filters: ['store'],
    columns: [
      onDay(t.customer.expiresOn, ({ expires_on }) => expires_on),
      customer,
      {
        head: t.entry.source,
        cell: ({ source: { type, id, reason, external_id: number } }) =>
          type === 'order' ? <OrderLink id={id} number={number} /> : (reason ?? number),
      },
      store,
      onDay(t.customer.availableOn, ({ available_on }) => available_on),
      amount(t.customer.held, (row) => row.held),
      amount(t.field.amount, (row) => row.amount),
      amount(t.customer.remaining, (row) => row.remaining, true),
    ],
    read: (query, options) => cashback.credits.list(query, options),
  }),
  customers: list<Customer>({
    periods: [],
    filters: ['balance_minimum'],
    columns: [
      customer,
      amount(t.customer.available, (row) => row.available, true),
      amount(t.customer.pending, (row) => row.pending),
      amount(t.customer.held, (row) => row.held),
      amount(t.customer.debt, (row) => row.debt),
      { head: t.list.nextExpiry, cell: ({ next_expiry: next }) => (next ? <Day of={next.expires_on} /> : '–') },
      when(({ last_order_at }) => last_order_at, t.list.lastOrder),
    ],
    read: (query, options) => cashback.customers.list(query, options),
  }),
};
type Name = keyof typeof LISTS;
const NAMES = Object.keys(LISTS) as Name[];

/** What the address has of the filters of a list; days as the instants at which they begin. */
function queryOf({ periods, filters, isExclusive }: Of<unknown>, given: Query): Query {
  if (isExclusive && filters.filter((name) => given[name]).length > 1) throw new InputError(t.list.exclusive);
  const ends = periods.flatMap((about) => [`${about}_from`, `${about}_to`]);
  const named = [...ends, ...filters].filter((name) => given[name]);
  const valueOf = (name: string): string => {
    const value = given[name]!;
    if (!ends.includes(name)) return value;
    if (asDay(value) !== value) return value;
    if (!isDay(value)) throw new InputError(t.period.days);
    return name.startsWith('expires') ? value : startOf(value);
  };
  return Object.fromEntries(named.map((name) => [name, valueOf(name)]));
}

export function List({ name }: { name: Name }): JSX.Element {
  const of = LISTS[name];
  const [given, change] = useFilters<Query>({});
  const about = of.periods.find((one) => given[`${one}_from`] || given[`${one}_to`]) ?? of.periods[0];
  const days = about && { from: asDay(given[`${about}_from`] ?? ''), to: asDay(given[`${about}_to`] ?? '') };
  const setPeriod = (next: About, { from, to }: { from: string; to: string }): void =>
    change({
      ...(about && { [`${about}_from`]: '', [`${about}_to`]: '' }),
      [`${next}_from`]: from,
      [`${next}_to`]: to,
    });
  const asked = attempt(() => {
    if (days?.from && days.to && days.to <= days.from) throw new InputError(t.period.order);
    return queryOf(of, given);
  });
  return (
    <>
      <div class="head">
        <Heading title={t.list.names[name]} />
        {asked.query && (
          <div class="buttons">
            <Download
              label={t.period.csv}
              name={[t.list.names[name], days?.from, days?.to].filter(Boolean).join('-').replaceAll(' ', '-')}
              read={() => whole(cashback[name].csv(asked.query, language))}
            />
          </div>
        )}
      </div>
      <Tabs label={t.list.title} base="list" at={name} tabs={NAMES.map((one) => [one, t.list.names[one]])} />
      <div class="stack">
        {about && days && (
          <div class="bar">
            {of.periods.length > 1 && (
              <select
                aria-label={t.list.period}
                value={about}
                onChange={({ currentTarget }) => setPeriod(currentTarget.value as About, days)}
              >
                {of.periods.map((one) => (
                  <option key={one} value={one}>
                    {t.list.periods[one]}
                  </option>
                ))}
              </select>
            )}
            <Period {...days} isOptional isAhead={about === 'expires'} onChange={(next) => setPeriod(about, next)} />
          </div>
        )}
        <Filters of={of} given={given} change={change} />
      </div>
      {asked.query ? (
        <PagedTable
          caption={t.list.names[name]}
          columns={of.columns}
          list={(signal) => of.read({ ...asked.query, limit: '50' }, { signal })}
          on={[name, JSON.stringify(asked.query)]}
          empty={t.list.empty}
        />
      ) : (
        <Problem error={asked.error} />
      )}
    </>
  );
}

/** @returns the query, or what is wrong with it */
function attempt(make: () => Query): { query?: Query; error?: unknown } {
  try {
    return { query: make() };
  } catch (error) {
    return { error };
  }
}

/** What an option of a filter is called. */
const OPTIONS: Partial<Record<FilterName, Record<string, string>>> = { status: t.status, kind: t.entryKind };

interface FilterProps {
  given: Query;
  change: (changes: Query) => void;
}

/** The filters that hold, each with a button that removes it, and the others as fields. */
function Filters({ of, given, change }: FilterProps & { of: Of<unknown> }): JSX.Element {
  const active = of.filters.filter((name) => given[name]);
  const free = of.isExclusive && active.length > 0 ? [] : of.filters.filter((name) => !given[name]);
  if (active.length + free.length === 0) return <></>;
  return (
    <div class="bar" role="group" aria-label={t.list.filters}>
      {active.map((name) => (
        <button
          key={name}
          class="chip"
          aria-pressed={true}
          title={t.list.remove}
          onClick={() => change({ [name]: '', label: '' })}
        >
          {t.list.filter[name]}: <FilterValue name={name} value={given[name]!} label={given.label} />
          <span aria-hidden="true">×</span>
        </button>
      ))}
      {free.map((name) => (
        <Choose key={name} name={name} choose={(value) => change({ [name]: value })} />
      ))}
    </div>
  );
}

function FilterValue(props: { name: FilterName; value: string; label: string | undefined }): JSX.Element {
  const { name, value, label } = props;
  const campaign = useLoad(
    async (signal) => (name === 'campaign_id' ? (await cashback.campaigns.get(value, { signal })).name : ''),
    [value],
  );
  const names = OPTIONS[name];
  if (names)
    return (
      <>
        {value
          .split(',')
          .map((one) => names[one] ?? one)
          .join(', ')}
      </>
    );
  if (name === 'campaign_id') return <>{campaign.data ?? label ?? '…'}</>;
  if (name === 'balance_minimum') return <>{/^\d+(\.\d+)?$/.test(value) ? money(value) : value}</>;
  if (name === 'user_id') return <>{value === 'operator' ? t.operator : (label ?? value.slice(0, 8))}</>;
  return <>{value}</>;
}

/** A user and a campaign come from links only. */
function Choose({ name, choose }: { name: FilterName; choose: (value: string) => void }): JSX.Element | null {
  const label = t.list.filter[name];
  const options = OPTIONS[name];
  if (options)
    return (
      <select aria-label={label} value="" onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">{label}</option>
        {Object.entries(options).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    );
  if (name === 'user_id' || name === 'campaign_id') return null;
  const isAmount = name === 'balance_minimum';
  return (
    <input
      aria-label={label}
      placeholder={label}
      inputMode={isAmount ? 'decimal' : undefined}
      pattern={isAmount ? '\\d+([.,]\\d{1,2})?' : undefined}
      onChange={({ currentTarget: input }) => {
        const text = input.value.trim();
        if (input.reportValidity() && text !== '') choose(isAmount ? text.replace(',', '.') : text);
      }}
    />
  );
}

export const listView = (_: Session, [name = '']: string[]): JSX.Element => {
  const known = NAMES.find((one) => one === name) ?? 'orders';
  return <List key={known} name={known} />;
};
