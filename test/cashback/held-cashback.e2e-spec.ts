import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CreditExpiryService } from '../../src/cashback/credit-expiry.service.js';
import { type Answer, atOnce } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { expectInvariants } from '../support/expectations.js';
import { aCreatedOrder, aDocument, anOrder, grant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Order, Wallet } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { movementsOf, rowsOf, statementOf } from '../support/wallets.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const clock = new FrozenClock();
const { service, merchant } = useService({
  clock,
  merchant: (started) =>
    aLongLivedMerchant(started, {
      ...{ earnRateBps: 0, earnRatesByPaymentMethod: { bonus: 600 }, redeemShareBps: 10_000 },
      ...{ releaseDays: 0, maxOrderTtlMinutes: 60 * 24 * 60 },
    }),
});
afterEach(() => expectInvariants(service));

let document: string;
/** When the credit expires that every test holds. */
let tonight: number;
beforeEach(() => {
  document = aDocument();
  tonight = clock.ms + HOUR_MS;
});

const hold = (order: { id: string }, amount: string, expires_at?: string): Promise<Answer<Order>> =>
  merchant.client.put(`/orders/${order.id}/redemption`, { amount, expires_at });
const complete = (order: { id: string }, redeem?: string): Promise<Answer<Order>> =>
  merchant.client.post(`/orders/${order.id}/complete`, { redeem });
const cancel = (order: { id: string }): Promise<Answer<Order>> => merchant.client.post(`/orders/${order.id}/cancel`);
const credit = (amount: string, expiresAt: number): Promise<void> =>
  grant(service, merchant, document, amount, { expiresAt: new Date(expiresAt) });
const wallet = (): PromiseLike<Wallet> => merchant.wallet(document);
const movements = (): Promise<string[]> => movementsOf(merchant, document);
/** Moves the clock to an instant without a sweep. */
const skipTo = (instant: number): void => clock.skip(instant - clock.ms);

/** Creates an order of 100.00 that holds an amount until an instant. */
async function anOrderHolding(amount: string, until = clock.ms + 2 * DAY_MS): Promise<Order> {
  const order = await aCreatedOrder(merchant, {
    ...{ document, total: '100.00', expires_at: new Date(until).toISOString() },
  });
  const { status, body } = await hold(order, amount);
  expect({ status, held: body.cashback?.to_redeem.held }).toEqual({ status: 200, held: amount });
  return body;
}

/** What remains of the customer's credits, and what is held of it, earliest expiry first. */
async function credits(): Promise<[remaining: number, held: number][]> {
  const sql = `SELECT c.remaining_cents, c.held_cents FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id
                WHERE w.merchant_id = ? AND w.document = ? ORDER BY c.expires_at, c.seq`;
  const rows = await rowsOf(service, sql, [merchant.id, document]);
  return rows.map((row) => [Number(row.remaining_cents), Number(row.held_cents)]);
}

describe('what an order holds of a credit that expires meanwhile', () => {
  it('a hold that is lowered keeps what expires first, and releases the rest, once', async () => {
    await credit('20.00', tonight);
    await credit('10.00', tonight + 30 * DAY_MS);
    const order = await anOrderHolding('30.00');
    expect(await credits()).toEqual([
      [2000, 2000],
      [1000, 1000],
    ]);
    skipTo(tonight);
    const answers = await atOnce(10, () => hold(order, '15.00'));
    expect(new Set(answers.map(({ status, body }) => JSON.stringify({ status, body }))).size).toBe(1);
    expect(answers[0]).toMatchObject({
      ...{ status: 200, body: { version: 3, cashback: { to_redeem: { held: '15.00', available: '10.00' } } } },
    });
    expect(await hold(order, '15.00')).toMatchObject({ status: 200, body: answers[0]!.body });
    expect(await credits()).toEqual([
      [1500, 1500],
      [1000, 0],
    ]);
    expect(await movements()).toEqual(['grant 20.00', 'grant 10.00', 'expire -5.00']);
    const holds = 'SELECT amount_cents FROM cashback_holds WHERE order_id = ?';
    expect((await rowsOf(service, holds, [order.id])).map((row) => Number(row.amount_cents))).toEqual([1500]);
  });

  const amended = (order: Order): Promise<Answer> => {
    const { items, payment_methods } = anOrder({ total: '5.50' });
    return merchant.client.put(`/orders/${order.id}`, { total: '5.50', items, payment_methods, redeem: 'maximum' });
  };

  it.each<[string, string, (order: Order) => Promise<unknown>]>([
    ['a hold of 0.00', '20.00', (order) => hold(order, '0.00')],
    ['a lower hold', '14.50', (order) => hold(order, '5.50')],
    ['an amendment that lowers the hold', '14.50', amended],
    ['a cancellation', '20.00', cancel],
    ['a completion that redeems less', '14.50', (order) => complete(order, '5.50')],
    ['the expiry of the order', '20.00', ({ expires_at }) => clock.advance({ ms: Date.parse(expires_at) - clock.ms })],
  ])(
    'what %s releases is available if its credit has not expired, and expires otherwise',
    async (_, released, release) => {
      await credit('20.00', tonight + 30 * DAY_MS);
      await release(await anOrderHolding('20.00'));
      expect((await wallet()).available).toBe(released);
      expect((await movements()).filter((line) => line.startsWith('expire'))).toEqual([]);

      document = aDocument();
      await credit('20.00', clock.ms + HOUR_MS);
      const order = await anOrderHolding('20.00');
      clock.skip(HOUR_MS);
      await release(order);
      expect((await wallet()).available).toBe('0.00');
      expect((await movements()).filter((line) => line.startsWith('expire'))).toEqual([`expire -${released}`]);
    },
  );

  it('orders that hold parts of an expired credit and are cancelled at once let each part expire once', async () => {
    await credit('20.00', tonight);
    const orders: Order[] = [];
    for (let count = 0; count < 5; count++) orders.push(await anOrderHolding('4.00'));
    skipTo(tonight);
    const answers = await atOnce(10, (index) => cancel(orders[index % 5]!));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(await wallet()).toMatchObject({ available: '0.00', held: '0.00', debt: '0.00' });
    expect(await movements()).toEqual(['grant 20.00', ...Array<string>(5).fill('expire -4.00')]);
  });
});

describe('what a hold takes', () => {
  it('a hold takes from the earliest expiry, and from the oldest of the credits that expire together', async () => {
    for (const days of [20, 10, 10, 10]) await credit('10.00', tonight + days * DAY_MS);
    await anOrderHolding('15.00');
    expect(await credits()).toEqual([
      [1000, 1000],
      [1000, 500],
      [1000, 0],
      [1000, 0],
    ]);
    const order = await anOrderHolding('17.00');
    expect(await credits()).toEqual([
      [1000, 1000],
      [1000, 1000],
      [1000, 1000],
      [1000, 200],
    ]);
    expect((await complete(order)).status).toBe(200);
    expect((await movements()).slice(4)).toEqual(['redeem -5.00', 'redeem -10.00', 'redeem -2.00']);
  });
});

describe('an order that expires around the expiry of its credit', () => {
  const sweeps: [string, () => Promise<unknown>][] = [
    ['before the credit expires', () => Promise.resolve()],
    ['1 second after the credit has expired', () => Promise.resolve(clock.skip(1100))],
    ['after an outage of three days', () => Promise.resolve(clock.skip(3 * DAY_MS))],
  ];

  /** The lines of a statement, with the instant of those that expire. */
  async function lines(): Promise<string[]> {
    return (await statementOf(merchant, document)).map(({ kind, amount, effective_at }) =>
      kind === 'expire' ? `${kind} ${amount} at ${effective_at}` : `${kind} ${amount}`,
    );
  }

  it.each(sweeps)(
    'an order that ends 100 ms before its credit expires lets it expire, if the sweep comes %s',
    async (_, wait) => {
      await credit('30.00', tonight);
      const order = await anOrderHolding('20.00', tonight - 100);
      skipTo(tonight - 100);
      await wait();
      await clock.sweep();
      skipTo(Math.max(tonight, clock.ms));
      await clock.sweep();
      expect((await merchant.client.get(`/orders/${order.id}`)).body).toMatchObject({
        ...{ status: 'expired', cashback: { to_redeem: { lapsed: '20.00', available: '0.00' } } },
      });
      expect(await wallet()).toMatchObject({ available: '0.00', held: '0.00', next_expiry: null });
      const expired = (await lines()).slice(1);
      const sum = expired.reduce((cents, line) => cents + Math.round(100 * Number(line.split(' ')[1])), 0);
      expect(sum).toBe(-3000);
      expect(new Set(expired.map((line) => line.split(' at ')[1]))).toEqual(new Set([new Date(tonight).toISOString()]));
    },
  );

  it('the result is the same whether credits or orders are swept first', async () => {
    await credit('30.00', tonight);
    await anOrderHolding('20.00', tonight - 100);
    skipTo(tonight + HOUR_MS);
    await service.app.get(CreditExpiryService).run();
    expect(await lines()).toEqual(['grant 30.00', `expire -10.00 at ${new Date(tonight).toISOString()}`]);
    await clock.sweep();
    // By change, both lines are one, and name their credit.
    const { id } = await wallet();
    const [first, second] = (await merchant.entries({ id })).data;
    const change = { ...first, amount: '-30.00', lines: 2 };
    expect(first).toMatchObject({ credit_id: second!.credit_id });
    expect((await merchant.entries({ id }, 'by=change')).data).toMatchObject([change, { kind: 'grant' }]);
    expect(await lines()).toEqual([
      ...[
        'grant 30.00',
        ...['-10.00', '-20.00'].map((amount) => `expire ${amount} at ${new Date(tonight).toISOString()}`),
      ],
    ]);
    expect(await wallet()).toMatchObject({ available: '0.00', held: '0.00' });
  });
});
