import { beforeEach, describe, expect, it } from '@jest/globals';
import { parseMoney, sumCents } from '../../src/platform/values/money.js';
import { localDate, startOfDayAfter } from '../support/days.js';
import { aDocument, aMerchant, aUser, type TestMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';

const ZONE = 'America/Sao_Paulo';
const { service } = useService();
let merchant: TestMerchant;
/** The first instants of the current month and the following ones in São Paulo. */
const starts: Date[] = [];
const months: string[] = [];

beforeEach(async () => {
  merchant = await aMerchant(service, { redeemShareBps: 10_000 });
  const now = service.clock.now().getTime();
  starts.length = months.length = 0;
  for (let days = 0; starts.length < 5; days++) {
    const start = startOfDayAfter(now, days, ZONE);
    const month = localDate(start, ZONE).slice(0, 7);
    if (months.at(-1) !== month) starts.push(new Date(start));
    if (months.at(-1) !== month) months.push(month);
  }
});

interface Month {
  month: string;
  expiring: string;
  held: string;
}

const expiringOf = async (id: string, query = '', shop = merchant): Promise<Month[]> =>
  (await shop.send<{ data: Month[] }>('GET', `/wallets/${id}/expiring${query}`, {}, 200)).data;

const sumOf = (amounts: string[]): number => sumCents(amounts.map(parseMoney));

async function hold(document: string, amount: string): Promise<void> {
  await merchant.hold(await merchant.create({ document, total: amount, payment_methods: [] }), amount);
}

describe('GET /wallets/{id}/expiring', () => {
  it('GET /wallets/{id}/expiring has each month with what expires in it, and adds up to what the wallet has', async () => {
    const document = await merchant.customerWith('2.00', { expiresAt: new Date(starts[1]!.getTime() - 1) });
    await merchant.credit(document, '3.00', { expiresAt: starts[1]! });
    await merchant.credit(document, '4.00', { availableAt: starts[1]!, expiresAt: starts[3]! });
    await merchant.credit(document, '9.00', { expiresAt: starts[4]! });
    await merchant.customerWith('100.00', { expiresAt: starts[1]! });
    // It holds all of the first credit, and a part of the second.
    await hold(document, '3.50');
    const wallet = await merchant.wallet(document);
    expect(await expiringOf(wallet.id, '?months=4')).toEqual([
      { month: months[0], expiring: '2.00', held: '2.00' },
      { month: months[1], expiring: '3.00', held: '1.50' },
      { month: months[2], expiring: '0.00', held: '0.00' },
      { month: months[3], expiring: '4.00', held: '0.00' },
    ]);
    const year = await expiringOf(wallet.id);
    expect(year).toHaveLength(12);
    const { available, pending, held } = wallet;
    expect(sumOf(year.map(({ expiring }) => expiring))).toBe(sumOf([available, pending, held]));
    expect(sumOf(year.map((month) => month.held))).toBe(sumOf([held]));
    expect(await expiringOf(wallet.id)).toEqual(year);
  });

  it('the customers of a merchant add up to GET /reports/expiring', async () => {
    const documents = [aDocument(), aDocument(), aDocument()];
    for (const [at, document] of documents.entries()) {
      await merchant.credit(document, `${at + 1}.00`, { expiresAt: starts[at + 1]! });
      await merchant.credit(document, '5.00', { expiresAt: starts[2]! });
      await hold(document, '1.50');
    }
    const { data } = await merchant.get<{ data: Month[] }>('/reports/expiring');
    const own = await Promise.all(documents.map(async (of) => expiringOf((await merchant.wallet(of)).id)));
    for (const [at, { month, expiring, held }] of data.entries()) {
      expect(own.map((rows) => rows[at]!.month)).toEqual([month, month, month]);
      expect(sumOf(own.map((rows) => rows[at]!.expiring))).toBe(sumOf([expiring]));
      expect(sumOf(own.map((rows) => rows[at]!.held))).toBe(sumOf([held]));
    }
  });

  it('what has expired and is still held counts in the current month, and is gone after the release', async () => {
    const document = await merchant.customerWith('9.00', { expiresAt: service.clock.inMinutes(1) });
    const order = await merchant.create({ document });
    await merchant.hold(order, '9.00');
    service.clock.skip(2 * 60_000);
    const { id } = await merchant.wallet(document);
    expect((await expiringOf(id, '?months=1'))[0]).toMatchObject({ expiring: '9.00', held: '9.00' });
    await merchant.cancel(order);
    expect((await expiringOf(id, '?months=1'))[0]).toMatchObject({ expiring: '0.00', held: '0.00' });
  });

  it('months are those of the merchant’s time zone', async () => {
    const east = await aMerchant(service, { timeZone: 'Pacific/Kiritimati' });
    const document = aDocument();
    const end = new Date(starts[2]!.getTime() - 1);
    await east.credit(document, '5.00', { expiresAt: end });
    const { id } = await east.wallet(document);
    const found = (await expiringOf(id, '', east)).filter(({ expiring }) => expiring !== '0.00');
    expect(found).toMatchObject([{ month: localDate(+end, 'Pacific/Kiritimati').slice(0, 7), expiring: '5.00' }]);
  });

  it('an erased customer keeps what it has, and a user without permissions can read it', async () => {
    const document = await merchant.customerWith('5.00');
    await hold(document, '5.00');
    const { id } = await merchant.wallet(document);
    const before = await expiringOf(id);
    expect(sumOf(before.map(({ held }) => held))).toBe(500);
    await merchant.erase(document);
    expect(await expiringOf(id, '', await aUser(service, merchant.id, []))).toEqual(before);
  });

  it('GET /wallets/{id}/expiring returns 404 for a wallet of another merchant and an unknown one', async () => {
    const { id } = await merchant.wallet(await merchant.customerWith('5.00'));
    const other = await aMerchant(service);
    for (const [shop, wallet] of [
      [other, id],
      [merchant, '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10'],
    ] as const)
      await shop.get(`/wallets/${wallet}/expiring`).refused(404, 'not_found');
  });

  it.each(['0', '121', '-1', 'all', ''])(
    'GET /wallets/{id}/expiring refuses %j as a number of months',
    async (text) => {
      const { id } = await merchant.wallet(await merchant.customerWith('5.00'));
      const errors = [{ parameter: 'months' }];
      await merchant.get(`/wallets/${id}/expiring?months=${text}`).refused(400, 'validation_failed', { errors });
    },
  );
});
