import { beforeAll, describe, expect, it } from '@jest/globals';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { aDocument, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';

interface FrequentReport {
  data: { day: string; document: string; orders: number; total: string; completed_by: object[] }[];
}

describe('GET /reports/frequent', () => {
  const { service, admin } = useAdmin();
  let merchant: TestMerchant;
  let [first, second, period] = ['', '', ''];
  let cashier: TestMerchant;
  const [own, regular, rare] = [aDocument(), aDocument(), aDocument()];

  beforeAll(async () => {
    merchant = await aLongLivedMerchant(service);
    const start = startOfDay(addDays(dayOf(service.clock.now(), ZONE), 1), ZONE);
    // Midnight comes after the second order of `rare` and the fourth one of `own`.
    await service.clock.advance({ ms: +start - +service.clock.now() - 120_000 });
    cashier = await aUser(service, merchant.id, ['sell', 'refund'], 'Caixa 3');
    first = dayOf(service.clock.now(), ZONE);
    second = addDays(first, 1);
    period = `from=${first}&to=${addDays(first, 2)}`;
    const sold = [];
    for (let count = 0; count < 3; count++) sold.push(await cashier.completed({ document: own, total: '10.00' }));
    await merchant.completed({ document: own, total: '5.50' });
    for (let count = 0; count < 2; count++) await merchant.completed({ document: rare });
    await merchant.create({ document: rare });
    await cashier.refund(sold[0]!, '10.00');
    await cashier.refund(sold[1]!, '1.00');
    await service.clock.advance({ minutes: 3 });
    await merchant.completed({ document: rare });
    for (let count = 0; count < 3; count++) await merchant.completed({ document: regular, total: '20.00' });
    await cashier.cancel(await merchant.create({ document: rare }));
  });

  const report = (query: string): PromiseLike<FrequentReport> =>
    merchant.get<FrequentReport>(`/reports/frequent?${query}`);

  it('GET /reports/frequent shows the customers with many completed orders in a local day, and who completed them', async () => {
    const { data } = await report(period);
    expect(data).toEqual([
      {
        day: first,
        document: own,
        orders: 4,
        total: '35.50',
        completed_by: [
          { user_id: cashier.userId, name: 'Caixa 3', orders: 3 },
          { user_id: merchant.userId, name: expect.stringMatching(/^User/), orders: 1 },
        ],
      },
      {
        day: second,
        document: regular,
        orders: 3,
        total: '60.00',
        completed_by: [{ user_id: merchant.userId, name: expect.any(String), orders: 3 }],
      },
    ]);
  });

  it('GET /reports/frequent counts orders from `at_least` on, and days from `from` on and before `to`', async () => {
    const customers = async (query: string): Promise<string[]> => (await report(query)).data.map((row) => row.document);
    expect(await customers(`${period}&at_least=4`)).toEqual([own]);
    expect(await customers(`${period}&at_least=2`)).toEqual([own, rare, regular]);
    expect(await customers(`${period}&at_least=5`)).toEqual([]);
    expect(await customers(`from=${second}&to=${addDays(second, 1)}`)).toEqual([regular]);
    expect(await customers(`from=${first}&to=${second}`)).toEqual([own]);
    const other = await aLongLivedMerchant(service);
    expect(await other.get(`/reports/frequent?${period}`)).toEqual({ data: [], next_cursor: null });
  });

  it('GET /reports/customers shows who bought most in a period, and what happened to these orders', async () => {
    const { data } = await merchant.get<{ data: object[] }>(`/reports/customers?${period}`);
    expect(data).toEqual([
      { document: rare, orders: 3, total: '450.00', refunded: '0.00', redeemed: '0.00', earned: '22.50' },
      { document: regular, orders: 3, total: '60.00', refunded: '0.00', redeemed: '0.00', earned: '3.00' },
      { document: own, orders: 4, total: '35.50', refunded: '11.00', redeemed: '0.00', earned: '1.22' },
    ]);
    const limited = await merchant.get<{ data: object[] }>(`/reports/customers?${period}&limit=1`);
    expect(limited.data).toEqual(data.slice(0, 1));
    const ofDay = await merchant.get<{ data: object[] }>(`/reports/customers?from=${second}&to=${addDays(second, 1)}`);
    expect(ofDay.data).toMatchObject([{ document: rare, orders: 1 }, { document: regular }]);
    const rows = await admin.list(
      'reports',
      'customers',
      '--merchant',
      merchant.id,
      '--from',
      first,
      '--to',
      addDays(first, 2),
      '--limit',
      '2',
    );
    expect(rows).toMatchObject(data.slice(0, 2));
    const other = await aLongLivedMerchant(service);
    expect(await other.get(`/reports/customers?${period}`)).toEqual({ data: [] });
  });

  it('GET /reports/frequent continues with a cursor where a page ends, and refuses one of another list', async () => {
    const cursor = Buffer.from(JSON.stringify(['frequent', Date.parse(second)])).toString('base64url');
    expect(await merchant.get(`/reports/frequent?${period}&cursor=${cursor}`)).toMatchObject({
      data: [{ day: second, document: regular }],
      next_cursor: null,
    });
    for (const list of ['orders', 'frequent'])
      await merchant
        .get(`/reports/frequent?${period}&cursor=${Buffer.from(JSON.stringify([list, 'x'])).toString('base64url')}`)
        .refused(400, 'validation_failed');
  });

  it('GET /reports/customers and frequent refuse a period with more than 300,000 orders, and say what to shorten', async () => {
    const shop = await aLongLivedMerchant(service);
    const day = addDays(first, -50);
    const add = (on: string, orders: number): Promise<unknown> =>
      rowsOf(service, 'INSERT INTO sales_days VALUES ?', [[[shop.id, on, '', '', '', orders, 0, 0, 0, 0, 0]]]);
    await add(day, 300_000);
    const one = `from=${day}&to=${addDays(day, 1)}`;
    const two = `from=${day}&to=${addDays(day, 2)}`;
    expect(await shop.get(`/reports/customers?${one}`)).toEqual({ data: [] });
    await add(addDays(day, 1), 1);
    const { detail, next_action } = await shop
      .get(`/reports/customers?${two}`)
      .refused(422, 'too_many_orders', { maximum: 300_000 });
    expect([detail, next_action]).toEqual([expect.stringContaining('fewer days'), 'fix_request']);
    expect(await shop.get(`/reports/customers?${one}`)).toEqual({ data: [] });
    // It reads each day by itself.
    expect(await shop.get(`/reports/frequent?${two}`)).toEqual({ data: [], next_cursor: null });
    await rowsOf(service, 'UPDATE sales_days SET orders = orders + 1 WHERE merchant_id = ?', [shop.id]);
    await shop.get(`/reports/frequent?${two}`).refused(422, 'too_many_orders');
    await rowsOf(service, 'DELETE FROM sales_days WHERE merchant_id = ?', [shop.id]);
  });

  it('`report frequent` shows the same for each merchant', async () => {
    const rows = await admin.list('reports', 'frequent', '--from', first, '--to', addDays(first, 2), '--at-least', '4');
    expect(rows).toMatchObject([{ merchant_id: merchant.id, day: first, document: own, orders: 4, total: '35.50' }]);
    expect(await admin.refusal('reports', 'frequent', '--from', second, '--to', first)).toContain('must be after from');
    expect(await admin.refusal('reports', 'frequent', '--from', first, '--to', second, '--at-least', '1')).toContain(
      '2 to 1000',
    );
  });

  it('GET /reports/frequent lists users with the same number of orders in the order of their IDs', async () => {
    const shop = await aLongLivedMerchant(service);
    const cashiers: TestMerchant[] = [];
    for (let count = 0; count < 6; count++) cashiers.push(await aUser(service, shop.id, ['sell'], `Caixa ${count}`));
    const document = aDocument();
    for (const at of [3, 5, 0, 4, 1, 2, 2]) await cashiers[at]!.completed({ document });
    const today = dayOf(service.clock.now(), ZONE);
    const { data } = await shop.get<FrequentReport>(`/reports/frequent?from=${today}&to=${addDays(today, 1)}`);
    expect(data[0]!.completed_by).toMatchObject([2, 0, 1, 3, 4, 5].map((at) => ({ user_id: cashiers[at]!.userId })));
  });
});
