import type { LedgerRow } from '@cashback/client';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { addMonths, language, month, monthFromNow, t } from '../format.js';
import { go, useLoad, useOnce } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { type Column, Table } from '../table.js';
import { Await, Heading, Money, Problem, save, Section } from '../ui.js';

/** The columns of a ledger's amounts. */
const amountColumns = (...names: Exclude<keyof typeof t.measure, 'orders'>[]): Column<LedgerRow>[] =>
  names.map((name) => ({ head: t.measure[name], cell: (row) => <Money of={row[name]} />, isNumber: true }));

const amounts = amountColumns(
  ...(['opening', 'earned', 'granted', 'redeemed', 'returned', 'taken_back', 'voided', 'debited'] as const),
  ...(['expired', 'closing', 'closing_debt'] as const),
);

const storeColumns: Column<LedgerRow>[] = [
  { head: t.field.store, cell: ({ store }) => (store === undefined ? t.months.all : (store ?? t.noStore)) },
  ...amounts,
];

export function Months({ month: chosen = monthFromNow(0) }: { month: string | undefined }): JSX.Element {
  const year = { from: monthFromNow(-11), to: monthFromNow(1) };
  const months = useLoad((signal) => cashback.reports.ledger({ ...year, by: 'month' }, { signal }), [year.to]);
  const columns: Column<LedgerRow>[] = [
    {
      head: t.months.month,
      cell: ({ from, closed }) => (
        <>
          <button class="link" aria-pressed={from === chosen} onClick={() => go(`months/${from}`)}>
            {month(from)}
          </button>{' '}
          {!closed && <small>{t.months.open}</small>}
        </>
      ),
    },
    ...amounts,
  ];
  return (
    <>
      <Heading title={t.months.title} />
      <p class="soft">{t.months.text}</p>
      <Await of={months} lines={12}>
        {({ data }) => (
          <>
            <Table caption={t.months.title} columns={columns} rows={[...data].reverse()} />
            <Csv period={year} by="month" label={t.months.csvYear} />
          </>
        )}
      </Await>
      <Month key={chosen} from={chosen} />
    </>
  );
}

function Month({ from }: { from: string }): JSX.Element {
  const period = { from, to: addMonths(from, 1) };
  const stores = useLoad((signal) => cashback.reports.ledger({ ...period, by: 'store' }, { signal }), [from]);
  const shown = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (location.hash.endsWith(from)) shown.current?.scrollIntoView({ block: 'end' });
  }, [stores.data]);
  return (
    <div ref={shown}>
      <Section title={t.months.byStore(month(from))}>
        <Await of={stores}>
          {({ data, total }) => (
            <>
              <Table caption={t.months.byStore(month(from))} columns={storeColumns} rows={data} foot={total} />
              <Csv period={period} by="store" label={t.months.csvMonth(month(from))} />
            </>
          )}
        </Await>
      </Section>
    </div>
  );
}

function Csv(props: { label: string; period: { from: string; to: string }; by: 'month' | 'store' }): JSX.Element {
  const { error, run } = useOnce(async () => {
    const { from, to } = props.period;
    const csv = await cashback.reports.csv('ledger', { ...props.period, by: props.by }, language);
    save(csv, 'text/csv', `ledger-${from}-${to}.csv`);
  });
  return (
    <p class="buttons">
      <button onClick={run}>{props.label}</button>
      {error !== undefined && <Problem error={error} />}
    </p>
  );
}

export const months = (_: Session, [month]: string[]): JSX.Element => <Months month={month} />;
