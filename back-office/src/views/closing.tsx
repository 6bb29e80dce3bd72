import type { LedgerReport, LedgerRow, OutstandingRow } from '@cashback/client';
import type { ComponentChildren, JSX } from 'preact';
import { type Bar, Chart } from '../chart.js';
import {
  addDays,
  addMonths,
  count,
  day,
  dayFromToday,
  language,
  longMonth,
  money,
  month as shortMonth,
  monthFromNow,
  slug,
  t,
} from '../format.js';
import { address, go, useFilters, useLoad } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { amount } from '../columns.js';
import { type Column, Table } from '../table.js';
import { Await, Badge, Empty, Heading, InputError, isZero, Money, Section, type Tone } from '../ui.js';
import { type Days, Download, listOf, refusalOf, whole, startOf } from './period.js';

/** What changes a balance, in the order of the equation: its sign there, and the kinds of its entries. */
const MOVEMENTS = {
  earned: [1, 'earn,move_out,move_in'],
  granted: [1, 'grant'],
  redeemed: [-1, 'redeem'],
  returned: [1, 'return'],
  taken_back: [-1, 'take_back,debt,repay'],
  voided: [-1, 'void'],
  debited: [-1, 'debit'],
  expired: [-1, 'expire'],
} as const;
type Movement = keyof typeof MOVEMENTS;
const NAMES = Object.keys(MOVEMENTS) as Movement[];
type Amount = Movement | 'opening' | 'closing' | 'closing_debt';
const AMOUNTS: Amount[] = ['opening', ...NAMES, 'closing', 'closing_debt'];

const signOf = (name: Movement): string => (MOVEMENTS[name][0] > 0 ? '+' : '−');

/** The columns of a ledger, without those that have nothing. */
const amountsOf = ({ data, total }: LedgerReport, names = AMOUNTS): Column<LedgerRow>[] =>
  names
    .filter((name) => [total, ...data].some((row) => !isZero(row[name])))
    .map((name) => ({
      ...{ head: t.measure[name], isNumber: true, isLead: name === 'closing' },
      cell: (row) => <Money of={row[name]} />,
    }));

export function Closing({ month }: { month: string }): JSX.Element {
  const days = { from: month, to: addMonths(month, 1) };
  const loaded = useLoad((signal) => cashback.reports.ledger({ ...days, by: 'store' }, { signal }), [month]);
  return (
    <>
      <div class="head">
        <Heading title={t.closing.of(longMonth(month))} />
        <Choose month={month} />
      </div>
      <Await of={loaded} lines={12}>
        {(stores) => (
          <>
            <Chart caption={t.closing.picture} bars={barsOf(stores.total)} />
            <div class="columns">
              <Section title={t.closing.movements} text={t.closing.entries}>
                <Table caption={t.closing.movements} columns={movementColumns(days)} rows={movementsOf(stores.total)} />
                <p class="soft">{t.closing.text}</p>
              </Section>
              <Todo {...days} late={stores.total.late ?? 0} />
            </div>
            <Section title={t.closing.byStore}>
              <Table
                caption={t.closing.byStore}
                columns={[
                  {
                    head: t.field.store,
                    cell: (row) =>
                      row === stores.total ? t.order.total : <span class="whole">{row.store ?? t.noStore}</span>,
                    isLead: true,
                  },
                  // No store owes the debt.
                  ...amountsOf(stores, AMOUNTS.slice(0, -1)),
                ]}
                rows={stores.data}
                foot={stores.total}
              />
            </Section>
          </>
        )}
      </Await>
      <Liability until={days.to} />
      <Expiring />
    </>
  );
}

/** The month before and after, and one of the last 24. */
function Choose({ month }: { month: string }): JSX.Element {
  const recent = Array.from({ length: 24 }, (_, ago) => monthFromNow(-ago));
  const all = recent.includes(month) ? recent : [...recent, month].sort().reverse();
  const link = (to: string, name: string, text: string): JSX.Element => (
    <a class="button" href={address(`closing/${to.slice(0, 7)}`)} aria-label={name} title={name}>
      {text}
    </a>
  );
  return (
    <div class="bar">
      {link(addMonths(month, -1), t.closing.previous, '‹')}
      <select
        aria-label={t.closing.month}
        value={month}
        onChange={({ currentTarget }) => go(`closing/${currentTarget.value.slice(0, 7)}`)}
      >
        {all.map((one) => (
          <option key={one} value={one}>
            {longMonth(one)}
          </option>
        ))}
      </select>
      {month < monthFromNow(0) && link(addMonths(month, 1), t.closing.next, '›')}
    </div>
  );
}

/** A bar for each movement, which begins where the one before ended. Numbers are heights only. */
function barsOf(row: LedgerRow): Bar[] {
  let at = Number(row.opening);
  const short: Partial<Record<Amount, string>> = t.closing.short;
  const bars: Bar[] = NAMES.filter((name) => !isZero(row[name])).map((name) => {
    const change = Number(row[name]) * MOVEMENTS[name][0];
    const before = at;
    at += change;
    return {
      ...{ name: `${signOf(name)} ${short[name] ?? t.measure[name]}`, value: Math.abs(change), text: money(row[name]) },
      ...{ base: Math.min(before, at), ...(change < 0 && { tone: 'down' as const }) },
    };
  });
  const end = (name: 'opening' | 'closing'): Bar => ({
    ...{ name: t.measure[name], value: Math.max(Number(row[name]), 0), text: money(row[name]), tone: 'whole' },
  });
  return [end('opening'), ...bars, end('closing')];
}

interface Line {
  name: string;
  amount: string;
  /** Of its entries. What has none is a balance. */
  kind?: string;
}

const movementsOf = (row: LedgerRow): Line[] => [
  { name: t.measure.opening, amount: row.opening },
  ...NAMES.filter((name) => !isZero(row[name])).map((name) => ({
    ...{ name: `${signOf(name)} ${t.measure[name]}`, amount: row[name], kind: MOVEMENTS[name][1] },
  })),
  { name: `= ${t.measure.closing}`, amount: row.closing },
  { name: t.measure.closing_debt, amount: row.closing_debt },
];

const movementColumns = ({ from, to }: Days): Column<Line>[] => [
  { head: t.closing.movement, cell: ({ name }) => name, isLead: true },
  {
    ...{ head: t.field.amount, isNumber: true, isLead: true },
    cell: ({ amount, kind }) =>
      kind === undefined || isZero(amount) ? (
        <Money of={amount} />
      ) : (
        <a href={listOf('entries', { kind, created_from: from, created_to: to })}>
          <Money of={amount} />
        </a>
      ),
  },
];

/** What has to be looked at before a month is booked, and the files for that. */
function Todo({ from, to, late }: Days & { late: number }): JSX.Element {
  const loaded = useLoad(
    async (signal) => {
      const [days, pairs, sales] = await Promise.all([
        cashback.reports.ledger({ from, to, by: 'day' }, { signal }),
        cashback.reports.ledger({ from, to, by: 'store_pair' }, { signal }),
        cashback.reports.sales({ from, to }, { signal }),
      ]);
      return { open: days.data.filter(({ closed }) => !closed), pairs: clearingOf(pairs), sales: sales.total };
    },
    [from],
  );
  return (
    <Section title={t.closing.todo}>
      <Await of={loaded} lines={5}>
        {({ open, pairs, sales }) => (
          <div class="card" role="list">
            {open[0] ? (
              <Tick tone="wait">{t.closing.isOpen(open.length, day(open[0].from))}</Tick>
            ) : (
              <Tick tone="good">{t.closing.isClosed}</Tick>
            )}
            <Tick tone="off">
              {t.closing.sold(count(sales.orders), money(sales.total), money(sales.refunded))}{' '}
              <a href={address('sales', { from, to, by: 'store' })}>{t.closing.openSales}</a>
            </Tick>
            <Tick tone={pairs.length === 0 ? 'good' : 'off'}>
              {t.closing.pairs(pairs.length)}
              {pairs.length > 0 && (
                <details>
                  <summary class="link">{t.closing.seePairs}</summary>
                  <div class="stack">
                    <p class="soft">{t.closing.clearingText}</p>
                    <Table caption={t.closing.clearing} columns={pairColumns} rows={pairs} />
                  </div>
                </details>
              )}
            </Tick>
            <Tick tone={late === 0 ? 'good' : 'off'}>{t.closing.late(late)}</Tick>
          </div>
        )}
      </Await>
      <h3>{t.closing.files}</h3>
      <Files from={from} to={to} />
    </Section>
  );
}

const Tick = ({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element => (
  <div class="item" role="listitem">
    <div>{children}</div>
    <Badge tone={tone} text={{ good: t.closing.done, wait: t.closing.wait, off: t.closing.check }[tone]} />
  </div>
);

/** Where a store served customers with cashback of another one. A row without a store is a debt. */
const clearingOf = ({ data }: LedgerReport): LedgerRow[] =>
  data.filter(
    ({ store, in_store, ...row }) =>
      store !== in_store && !(['redeemed', 'returned', 'taken_back'] as const).every((name) => isZero(row[name])),
  );

const pairColumns: Column<LedgerRow>[] = [
  { head: t.closing.owes, cell: ({ store }) => store ?? t.noStore, isLead: true },
  { head: t.closing.served, cell: ({ in_store }) => in_store ?? t.noStore, isLead: true },
  ...(['redeemed', 'returned', 'taken_back'] as const).map((name) => ({
    ...{ head: t.measure[name], isNumber: true },
    cell: (row: LedgerRow) => <Money of={row[name]} />,
  })),
];

function Files({ from, to }: Days): JSX.Element {
  const created = { created_from: startOf(from), created_to: startOf(to) };
  const year = { from: addMonths(from, -11), to };
  const ledger = (by: 'store' | 'store_pair') => () => cashback.reports.csv('ledger', { from, to, by }, language);
  const files: [name: string, label: string, read: () => Promise<string>][] = [
    ['stores', t.closing.filesOf.stores, ledger('store')],
    ['pairs', t.closing.clearing, ledger('store_pair')],
    ['sales', t.closing.filesOf.sales, () => cashback.reports.csv('sales', { from, to, by: 'store' }, language)],
    ['months', t.closing.months, () => cashback.reports.csv('ledger', { ...year, by: 'month' }, language)],
    ['entries', t.list.names.entries, () => whole(cashback.entries.csv(created, language))],
    ['grants', t.list.names.grants, () => whole(cashback.grants.csv(created, language))],
  ];
  return (
    <div class="buttons" role="group" aria-label={t.closing.files}>
      {files.map(([name, label, read]) => (
        <Download key={name} label={label} name={`${slug(label)}-${from.slice(0, 7)}`} read={read} />
      ))}
    </div>
  );
}

const outstandingColumns = (total: OutstandingRow): Column<OutstandingRow>[] => [
  {
    head: t.field.store,
    cell: (row) => (row === total ? t.order.total : (row.store ?? t.noStore)),
    isLead: true,
  },
  amount(t.closing.balance, ({ balance }) => balance, true),
  amount(t.measure.closing_debt, ({ debt }) => debt),
];

/** @param props `until` which day the month goes, which is not part of it */
function Liability({ until }: { until: string }): JSX.Element {
  const yesterday = dayFromToday(-1);
  const last = addDays(until, -1);
  const [{ as_of }, change] = useFilters({ as_of: last < yesterday ? last : yesterday });
  const isPast = refusalOf({ from: as_of, to: dayFromToday(0) }, Infinity) === undefined;
  const owed = useLoad(
    (signal) => (isPast ? cashback.reports.outstanding({ as_of, by: 'store' }, { signal }) : Promise.reject(notPast())),
    [as_of],
  );
  return (
    <Section
      title={t.closing.liability}
      text={t.closing.liabilityText}
      actions={
        <label class="check">
          {t.field.day}
          <input
            type="date"
            required
            min="2000-01-01"
            max={yesterday}
            value={as_of}
            onChange={({ currentTarget }) => currentTarget.validity.valid && change({ as_of: currentTarget.value })}
          />
        </label>
      }
    >
      <Await of={owed}>
        {({ data, total }) => (
          <Table caption={t.closing.liability} columns={outstandingColumns(total)} rows={data} foot={total} />
        )}
      </Await>
    </Section>
  );
}

const notPast = (): InputError => new InputError(t.closing.notPast);

function Expiring(): JSX.Element {
  const months = useLoad((signal) => cashback.reports.expiring({}, { signal }), []);
  return (
    <Section title={t.closing.expiring}>
      <Await of={months} lines={10}>
        {({ data }) =>
          data.some(({ expiring }) => expiring === null) ? (
            <Empty>{t.closing.expiringUnknown}</Empty>
          ) : (
            <Chart
              caption={t.closing.expiringText}
              bars={data.map(({ month, expiring }) => ({
                ...{ name: shortMonth(month), value: Number(expiring), text: money(expiring!) },
              }))}
            />
          )
        }
      </Await>
    </Section>
  );
}

/** @param parts a month such as `2026-10`; by default the last one that is over, which is the one to close */
export const closing = (_: Session, [month = '']: string[]): JSX.Element => {
  const known = /^\d{4}-(0[1-9]|1[0-2])(-01)?$/.test(month) ? `${month.slice(0, 7)}-01` : monthFromNow(-1);
  return <Closing key={known} month={known} />;
};
