import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addDays, dayOf } from '../../src/platform/values/time.js';
import { SumsService } from '../../src/reports/sums.service.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { type Service, startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';

type Row = Record<string, string | number | object | null>;
interface SalesReport {
  data: Row[];
  total: Row;
}

const NOTHING = {
  ...{ orders: 0, late: 0, total: '0.00', eligible_total: '0.00', paid: '0.00', earned: '0.00', redeemed: '0.00' },
  ...{ refunds: 0, refunded: '0.00', taken_back: '0.00', returned: '0.00' },
};

describe('GET /reports/sales', () => {
  const { service } = useService();
  let second: Service;
  let merchant: TestMerchant;
  let cashier: TestMerchant;
  let [first, next, period, campaign] = ['', '', '', ''];

  beforeAll(async () => {
    second = await startService({ databaseUrl: service.databaseUrl, clock: service.clock });
    merchant = await aLongLivedMerchant(service, {
      ...{ releaseDays: 1, lateSaleDays: 1, redeemShareBps: 10_000, earnRateBps: 1000 },
    });
    const today = dayOf(service.clock.now(), ZONE);
    campaign = (await merchant.campaign({ from: today, through: addDays(today, 1) })).id;
    await service.clock.advance({ hours: 2 });
    await merchant.endCampaign({ id: campaign });
    await service.clock.advance({ hours: 1 });
    cashier = await aUser(service, merchant.id, ['sell', 'refund'], 'Caixa 3');
    const document = aDocument();
    first = dayOf(service.clock.now(), ZONE);
    await cashier.completed({ document, total: '100.00', store: 'A' });
    await merchant.credit(document, '5.00');
    // It arrives when its campaign is over.
    const sold_at = new Date(service.clock.now().getTime() - 1.5 * 3_600_000).toISOString();
    const order = await merchant.sell({ document, total: '50.00', store: 'B', sold_at }, { redeem: '5.00' });
    await merchant.create({ document });
    await cashier.refund(order, '20.00', { store: 'A' });
    await service.clock.advance({ hours: 26 });
    next = dayOf(service.clock.now(), ZONE);
    await merchant.completed({ document, total: '10.00', eligible_total: '8.00' });
    period = `from=${first}&to=${addDays(next, 1)}`;
  });
  afterAll(() => second.stop());

  const report = (query: string, shop = merchant): PromiseLike<SalesReport> =>
    shop.get<SalesReport>(`/reports/sales?${query}`);
  const days = (): object => ({ from: first, to: addDays(next, 1) });
  const COMPLETED = {
    A: { ...NOTHING, orders: 1, total: '100.00', eligible_total: '100.00', paid: '100.00', earned: '10.00' },
    B: {
      ...{ ...NOTHING, orders: 1, late: 1, total: '50.00', eligible_total: '50.00', paid: '45.00', earned: '4.50' },
      redeemed: '5.00',
    },
    none: { ...NOTHING, orders: 1, total: '10.00', eligible_total: '8.00', paid: '10.00', earned: '0.80' },
  };
  const REFUND = { refunds: 1, refunded: '20.00', taken_back: '1.80', returned: '2.00' };
  const SUM = { orders: 2, total: '150.00', eligible_total: '150.00', paid: '145.00', earned: '14.50' };

  it('GET /reports/sales has what was sold and refunded in a period, and the cashback of it', async () => {
    const total = {
      ...days(),
      ...{ orders: 3, late: 1, total: '160.00', eligible_total: '158.00', paid: '155.00', earned: '15.30' },
      ...{ redeemed: '5.00', ...REFUND },
    };
    expect(await report(period)).toEqual({ data: [total], total });
  });

  it('GET /reports/sales?by=day and by=month have a row for each day and month, also where nothing was sold', async () => {
    const { data, total } = await report(`${period}&by=day`);
    expect(data).toHaveLength(next === addDays(first, 2) ? 3 : 2);
    expect(data[0]).toEqual({
      from: first,
      to: addDays(first, 1),
      ...NOTHING,
      ...SUM,
      late: 1,
      redeemed: '5.00',
      ...REFUND,
    });
    expect(data.at(-1)).toEqual({ from: next, to: addDays(next, 1), ...COMPLETED.none });
    expect(total).toMatchObject({ orders: 3 });
    const months = await report(`from=${first}&to=${addDays(first, 100)}&by=month`);
    expect(months.data.length).toBeGreaterThan(3);
    expect(months.data.reduce((sum, { orders }) => sum + Number(orders), 0)).toBe(3);
  });

  it('GET /reports/sales?by=store counts a refund where it was made', async () => {
    const { data } = await report(`${period}&by=store`);
    expect(data).toEqual([
      { store: null, ...days(), ...COMPLETED.none },
      { store: 'A', ...days(), ...COMPLETED.A, ...REFUND },
      { store: 'B', ...days(), ...COMPLETED.B },
    ]);
  });

  it('GET /reports/sales?by=user has who completed the orders and who made the refunds', async () => {
    const { data } = await report(`${period}&by=user`);
    const by = ({ userId }: TestMerchant, name: unknown): object => ({ user_id: userId, name });
    expect(data).toHaveLength(2);
    expect(data).toContainEqual({ by: by(cashier, 'Caixa 3'), ...days(), ...COMPLETED.A, ...REFUND });
    expect(data).toContainEqual(
      expect.objectContaining({ by: by(merchant, expect.any(String)), orders: 2, refunds: 0 }),
    );
  });

  it('GET /reports/sales?by=campaign has the orders of each campaign, with their refunds, and those of none', async () => {
    const { data } = await report(`${period}&by=campaign`);
    expect(data).toMatchObject([
      { campaign_id: null, orders: 2, refunds: 0 },
      { campaign_id: campaign, ...COMPLETED.B, ...REFUND },
    ]);
  });

  it('GET /reports/ledger has how many orders were completed late, by day and store', async () => {
    const late = async (by: string): Promise<unknown[]> => {
      const { data, total } = await merchant.get<SalesReport>(`/reports/ledger?${period}${by}`);
      expect(total.late).toBe(1);
      return data.map((row) => row.late);
    };
    expect(await late('')).toEqual([1]);
    expect((await late('&by=day'))[0]).toBe(1);
    expect((await late('&by=store')).filter((count) => count === 1)).toHaveLength(1);
    expect(new Set(await late('&by=store_pair'))).toEqual(new Set([undefined]));
  });

  it('GET /reports/sales says the same when all is summed, by two instances at once', async () => {
    const queries = ['', '&by=day', '&by=store', '&by=user', '&by=campaign'].map((by) => `${period}${by}`);
    const before = await Promise.all(queries.map((query) => report(query)));
    service.clock.skip(40 * 60_000);
    const sum = (on: Service): Promise<unknown> => on.app.get(SumsService).run();
    for (let times = 0; times < 10; times++) await Promise.all([sum(service), sum(second)]);
    const [{ orders } = {}] = await rowsOf<{ orders: string }>(
      service,
      'SELECT SUM(orders) AS orders FROM sales_days WHERE merchant_id = ?',
      [merchant.id],
    );
    expect(Number(orders)).toBe(3);
    expect(await Promise.all(queries.map((query) => report(query)))).toEqual(before);
    await expectInvariants(service);
  });

  it('a refund that is undone counts on that day with the opposite sign, so that a day that is over does not change', async () => {
    const shop = await aLongLivedMerchant(service);
    const day = dayOf(service.clock.now(), ZONE);
    const order = await shop.completed({ document: aDocument(), total: '40.00', store: 'A' });
    const refund = await shop.refund(order, '30.00');
    await service.clock.advance({ hours: 26 });
    const later = dayOf(service.clock.now(), ZONE);
    const of = async (from: string): Promise<Row> => (await report(`from=${from}&to=${addDays(from, 1)}`, shop)).total;
    const before = await of(day);
    expect(before).toMatchObject({ refunds: 1, refunded: '30.00', taken_back: '1.50' });
    await shop.client.post(`/orders/${order.id}/refunds/${refund.id}/void`, { reason: 'engano' });
    const expected = { ...NOTHING, refunds: -1, refunded: '-30.00', taken_back: '-1.50' };
    expect(await of(later)).toMatchObject(expected);
    await service.clock.advance({ hours: 1 });
    expect(await of(later)).toMatchObject(expected);
    expect(await of(day)).toEqual(before);
    const { total } = await report(`from=${day}&to=${addDays(later, 1)}`, shop);
    expect(total).toMatchObject({ orders: 1, refunds: 0, refunded: '0.00', taken_back: '0.00' });
    await expectInvariants(service);
  });

  it('a sale and a refund do not wait for rows that are added up', async () => {
    const shop = await aLongLivedMerchant(service);
    const document = aDocument();
    const order = await shop.completed({ document, total: '40.00' });
    service.clock.skip(60 * 60_000);
    const summing = service.dataSource.createQueryRunner();
    await summing.startTransaction();
    await summing.query('SELECT 1 FROM sum_positions WHERE merchant_id = ? FOR UPDATE', [shop.id]);
    await summing.query(
      `INSERT INTO sales_days SELECT o.merchant_id, '2020-01-01', '', '', '', COUNT(*), 0, 0, 0, 0, 0
         FROM orders o FORCE INDEX (ix_orders_completion) WHERE o.merchant_id = ? AND o.status = 'completed' GROUP BY o.merchant_id`,
      [shop.id],
    );
    await shop.refund(order, '10.00');
    expect(await shop.completed({ document, total: '5.00' })).toMatchObject({ status: 'completed' });
    await summing.rollbackTransaction();
    await summing.release();
  });

  it('GET /reports/sales shows nothing of another merchant, and needs the permission `reports`', async () => {
    const other = await aLongLivedMerchant(service);
    expect(await report(period, other)).toMatchObject({ data: [NOTHING], total: NOTHING });
    expect((await report(`${period}&by=store`, other)).data).toEqual([]);
    const seller = await aUser(service, merchant.id, ['sell', 'refund']);
    await seller.get(`/reports/sales?${period}`).refused(403, 'forbidden', { permission: 'reports' });
  });

  it.each([
    ['from=2026-12-01&to=2026-11-01', 'to', 'must be after from'],
    ['from=2026-11-01&to=2027-11-03', 'to', 'at most 366 days'],
    ['from=2026-11-01&to=2026-12-01&by=week', 'by', 'day or month or store or user or campaign'],
  ])('GET /reports/sales?%s is refused and names the parameter', async (query, parameter, detail) => {
    const { errors } = await merchant.get(`/reports/sales?${query}`).refused(400, 'validation_failed');
    expect(errors).toMatchObject([{ parameter, detail: expect.stringContaining(detail) }]);
  });

  it('the CSV of a report with several rows ends with their total', async () => {
    const { body } = await merchant.client.get<string>(`/reports/sales?${period}&by=store&csv=pt-BR`);
    const lines = body.replace('\uFEFF', '').split('\r\n').slice(0, -1);
    expect(lines[0]).toBe(
      'loja;de;antes de;pedidos;atrasados;total;total elegível;pago;gerado;resgatado;devoluções;reembolsado;estornado;devolvido',
    );
    expect(lines[1]).toMatch(/^\(sem loja\);/);
    expect(lines.at(-1)).toMatch(/^"TOTAL";[\d/]+;[\d/]+;3;1;160,00;/);
    const whole = await merchant.client.get<string>(`/reports/sales?${period}`, { headers: { accept: 'text/csv' } });
    expect(whole.body.split('\r\n').slice(0, -1)).toHaveLength(2);
    const pairs = await merchant.client.get<string>(`/reports/ledger?${period}&by=store_pair&csv=pt-BR`);
    expect(pairs.body.split('\r\n').at(-2)).toMatch(/^"TOTAL";;/);
  });
});
