import { beforeAll, describe, expect, it } from '@jest/globals';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';

type Row = Record<string, string | number | boolean | null>;
interface LedgerReport {
  data: Row[];
  total: Row;
}

describe('GET /reports/ledger?counts=true', () => {
  const { service, admin } = useAdmin();
  let merchant: TestMerchant;
  let [first, second, end, period] = ['', '', '', ''];
  const [ana, bob, wrong, erased] = [aDocument(), aDocument(), aDocument(), aDocument()];

  const goTo = (instant: number): Promise<void> => service.clock.advance({ ms: instant - +service.clock.now() });

  beforeAll(async () => {
    merchant = await aLongLivedMerchant(service);
    first = addDays(dayOf(service.clock.now(), ZONE), 1);
    second = addDays(first, 1);
    end = addDays(second, 1);
    period = `from=${first}&to=${end}&counts=true`;
    await goTo(+startOfDay(first, ZONE) - 60_000);
    await merchant.completed({ document: ana, store: 'A' });
    const early = await merchant.create({ document: ana, store: 'A' });
    await goTo(+startOfDay(first, ZONE));
    // It counts on the day of its completion.
    await merchant.complete(early);
    const sold = await merchant.completed({ document: ana, store: 'B' });
    await merchant.refund(sold, '10.00');
    await merchant.refund(await merchant.completed({ document: bob, store: 'B', total: '20.00' }), '20.00');
    // Nothing is earned, so the store has nothing in the ledger.
    await merchant.completed({
      document: bob,
      store: 'C',
      earn_amount: '0.00',
      payment_methods: [],
      eligible_total: '0.00',
    });
    await merchant.cancel(await merchant.create({ document: aDocument(), store: 'B' }));
    await merchant.create({ document: aDocument(), store: 'B' });
    await goTo(+startOfDay(second, ZONE) - 60_000);
    await merchant.completed({ document: wrong });
    await goTo(+startOfDay(second, ZONE));
    await merchant.completed({ document: ana, store: 'B' });
    for (let count = 0; count < 2; count++) await merchant.completed({ document: erased });
    await merchant.client.post('/customers/erase', { document: erased, confirm: erased });
  });

  const ledger = (query: string, shop = merchant): PromiseLike<LedgerReport> =>
    shop.get<LedgerReport>(`/reports/ledger?${query}`);
  const countsOf = ({ data, total }: LedgerReport, member: string): unknown[] => [
    ...data.map((row) => [row[member], row.orders, row.customers]),
    [total.orders, total.customers],
  ];

  it('GET /reports/ledger counts the orders completed in each day, refunded ones too, and their customers once', async () => {
    const days = [
      [first, 5, 3],
      [second, 3, 2],
      [8, 4],
    ];
    expect(countsOf(await ledger(`${period}&by=day`), 'from')).toEqual(days);
    expect(countsOf(await ledger(period), 'from')).toEqual([
      [first, 8, 4],
      [8, 4],
    ]);
    const months = await ledger(`from=${addDays(first, -1)}&to=${addDays(first, 30)}&by=month&counts=true`);
    expect(months.data.reduce((sum, { orders }) => sum + Number(orders), 0)).toBe(9);
    expect(months.total).toMatchObject({ orders: 9, customers: 4 });
    const rest = countsOf(await ledger(`from=${end}&to=${addDays(end, 1)}&counts=true`), 'from');
    expect(rest).toEqual([
      [end, 0, 0],
      [0, 0],
    ]);
  });

  it('GET /reports/ledger?by=store counts the orders that were made in each store, also where it owes nothing', async () => {
    const report = await ledger(`${period}&by=store`);
    expect(countsOf(report, 'store')).toEqual([
      ['A', 1, 1],
      ['B', 3, 2],
      ['C', 1, 1],
      [null, 3, 2],
      [8, 4],
    ]);
    expect(report.data[2]).toMatchObject({ opening: '0.00', earned: '0.00', closing: '0.00' });
    const without = await ledger(`from=${first}&to=${end}&by=store`);
    expect(without.data.map(({ store }) => store)).toEqual(['A', 'B', null]);
    expect(Object.keys(without.total)).not.toContain('orders');
  });

  it('GET /reports/ledger counts a customer who was corrected instead of the one before', async () => {
    const [{ id } = {}] = await rowsOf<{ id: string }>(service, 'SELECT id FROM orders WHERE document = ?', [wrong]);
    const { status } = await merchant.client.put(`/orders/${id}/customer`, { document: bob, reason: 'Typed wrongly' });
    expect(status).toBe(200);
    expect(countsOf(await ledger(`${period}&by=day`), 'from')).toEqual([
      [first, 5, 2],
      [second, 3, 2],
      [8, 3],
    ]);
  });

  it('GET /reports/ledger counts the same after the days are closed, for its merchant only, and `report ledger` too', async () => {
    const before = await ledger(`${period}&by=store`);
    await goTo(+startOfDay(end, ZONE) + 30 * 60_000);
    expect((await ledger(`${period}&by=store`)).data).toEqual(before.data.map((row) => ({ ...row, closed: true })));
    const other = await ledger(period, await aLongLivedMerchant(service));
    expect(other.total).toMatchObject({ orders: 0, customers: 0 });
    const options = ['--merchant', merchant.id, '--from', first, '--to', end, '--by', 'store', '--counts'];
    expect(await admin.list('report', 'ledger', ...options)).toMatchObject((await ledger(`${period}&by=store`)).data);
    const { body } = await merchant.client.get<string>(`/reports/ledger?${period}&by=store&csv=pt-BR`);
    expect(body).toMatch(/;fechado;pedidos;clientes\r\n/);
  });

  it.each([
    ['counts=false', 'counts'],
    ['counts=true&by=store_pair', 'counts'],
  ])('GET /reports/ledger refuses %s', async (query, parameter) => {
    const answer = await merchant.client.get(`/reports/ledger?from=${first}&to=${end}&${query}`);
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body).toMatchObject({ errors: [{ parameter }] });
  });

  it('GET /reports/ledger refuses counts of more than 31 days', async () => {
    const path = (days: number): string => `/reports/ledger?from=${first}&to=${addDays(first, days)}&counts=true`;
    expect((await merchant.client.get(path(31))).status).toBe(200);
    const answer = await merchant.client.get(path(32));
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body).toMatchObject({ errors: [{ parameter: 'to' }] });
  });
});
