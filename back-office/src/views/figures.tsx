import type { SalesReport, SalesRow } from '@cashback/client';
import { fromCentavos, toCentavos } from '@cashback/client/money';
import type { JSX } from 'preact';
import { type Bar, Measures } from '../chart.js';
import { addDays, count, day, daysBetween, money, t } from '../format.js';
import { useLoad } from '../hooks.js';
import { cashback } from '../session.js';
import { Await, Empty, Money, Tile } from '../ui.js';
import type { Days } from './period.js';

const MEASURES = ['total', 'orders', 'earned', 'redeemed', 'refunded'] as const;
export type Measure = (typeof MEASURES)[number];
export const nameOfMeasure = (name: Measure): string =>
  name === 'earned' || name === 'redeemed' ? t.measure[name] : t.sales[name];

/** The one amount that the page computes. */
export const averageOf = ({ orders, total }: Pick<SalesRow, 'orders' | 'total'>): string =>
  orders > 0 ? fromCentavos(toCentavos(total) / BigInt(orders)) : '0.00';

/** The sales of a period, and its days beside as many days before. */
export function Figures({ from, to }: Days): JSX.Element {
  const days = daysBetween(from, to);
  const both = useLoad(
    (signal) => {
      const read = (period: Days): Promise<SalesReport> => cashback.reports.sales({ ...period, by: 'day' }, { signal });
      return Promise.all([read({ from, to }), read({ from: addDays(from, -days), to: from })]);
    },
    [from, to],
  );
  return (
    <Await of={both} lines={12}>
      {([{ data, total }, before]) => (
        <>
          <dl class="tiles">
            <Tile name={t.sales.total} shown={<Money of={total.total} />}>
              {t.sales.before(money(before.total.total))}
            </Tile>
            <Tile name={t.sales.orders} shown={count(total.orders)}>
              {t.sales.before(count(before.total.orders))}
            </Tile>
            <Tile name={t.sales.average} shown={<Money of={averageOf(total)} />}>
              {t.sales.before(money(averageOf(before.total)))}
            </Tile>
            <Tile name={t.sales.refunded} shown={<Money of={total.refunded} />}>
              {t.sales.before(money(before.total.refunded))}
            </Tile>
          </dl>
          {total.orders === 0 && total.refunds === 0 && <Empty>{t.sales.none}</Empty>}
          {days > 1 && total.orders > 0 && <Bars rows={data} before={before.data} />}
        </>
      )}
    </Await>
  );
}

function Bars({ rows, before }: { rows: SalesRow[]; before: SalesRow[] }): JSX.Element {
  const of = (row: SalesRow, name: Measure): { value: number; text: string } => ({
    value: Number(row[name]),
    text: name === 'orders' ? count(row.orders) : money(row[name]),
  });
  const barsOf = (name: Measure): Bar[] =>
    rows.map((row, index) => ({
      ...{ name: day(row.from), ...of(row, name) },
      ...(before[index] && { before: of(before[index], name) }),
    }));
  return (
    <Measures
      label={t.sales.chart}
      options={MEASURES.map((name) => [name, nameOfMeasure(name)])}
      barsOf={barsOf}
      legend={t.sales.compared(rows.length)}
    />
  );
}
