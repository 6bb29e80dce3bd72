import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aCompletedOrder, aCreatedOrder, aDocument, grant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';
import { movementsOf, rowsOf, walletOf } from '../support/wallets.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const { service, merchant } = useService({
  merchant: (started) =>
    aLongLivedMerchant(started, { releaseDays: 0, redeemShareBps: 10_000, maxOrderTtlMinutes: 60 * 24 * 60 }),
});
afterEach(() => expectInvariants(service));

let document: string;
beforeEach(() => {
  document = aDocument();
});

const now = (): number => service.clock.now().getTime();
const at = (ms: number): Date => new Date(now() + ms);
const until = (instant: number): Promise<void> => service.clock.advance({ ms: instant - now() });
const hold = (order: { id: string }, amount: string, expires_at?: string): Promise<Answer> =>
  merchant.client.put(`/orders/${order.id}/redemption`, { amount, expires_at });
const cancel = (order: { id: string }): Promise<Answer> => merchant.client.post(`/orders/${order.id}/cancel`);
const refund = (order: { id: string }, amount: string): Promise<Answer> =>
  merchant.client.post(`/orders/${order.id}/refunds`, { external_id: 'DEV-1', amount });

/** Creates an order that holds an amount. It earns nothing and expires after some days. */
async function anOrderHolding(amount: string, days: number): Promise<any> {
  const order = await aCreatedOrder(merchant, {
    ...{ document, total: '100.00', eligible_total: amount, expires_at: at(days * DAY_MS).toISOString() },
  });
  const { status, body } = await hold(order, amount);
  expect(status).toBe(200);
  return body;
}

const columns = 'c.remaining_cents, c.expires_at, c.original_expires_at';
const credits = (): Promise<any[]> =>
  rowsOf(
    service,
    `SELECT ${columns} FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id WHERE w.document = ? ORDER BY c.id`,
    [document],
  );

/** @returns an order that holds 20.00 of a credit that was reinstated and expired again. */
async function anOrderHoldingWhatExpiredTwice(): Promise<any> {
  await grant(service, merchant, document, '20.00', { expiresAt: at(HOUR_MS) });
  const first = await anOrderHolding('20.00', 1);
  await until(now() + 2 * HOUR_MS);
  await cancel(first);
  const second = await anOrderHolding('20.00', 20);
  await until(now() + 9 * DAY_MS);
  return second;
}

describe('the hold of an order on expired credits', () => {
  it('a hold on expired credits can be moved, raised, and lowered, and releases only what is no longer held', async () => {
    await grant(service, merchant, document, '20.00', { expiresAt: at(HOUR_MS) });
    await grant(service, merchant, document, '5.00');
    const order = await anOrderHolding('20.00', 1);
    await until(now() + 2 * HOUR_MS);
    const later = at(3 * DAY_MS).toISOString();
    expect((await hold(order, '20.00', later)).body).toMatchObject({
      ...{ expires_at: later, version: 3 },
      cashback: { to_redeem: { held: '20.00', available: '5.00' } },
    });
    const held = ['grant 20.00', 'grant 5.00', 'hold -20.00'];
    expect(await movementsOf(merchant, document)).toEqual(held);
    expect((await credits())[0].original_expires_at).toBeNull();

    const raised = await aCreatedOrder(merchant, { document, total: '200.00' });
    expectProblem(await hold(raised, '5.01'), 422, 'redemption_exceeds_maximum');
    expect((await hold(order, '20.00')).status).toBe(200);
    const { body } = await hold(order, '12.50');
    expect(body.cashback.to_redeem).toMatchObject({ held: '12.50', available: '12.50' });
    expect(await movementsOf(merchant, document)).toEqual([...held, 'release 7.50']);
    expect((await hold(order, '12.50')).body).toEqual(body);
  });

  it('a hold on a credit that expired twice can be moved, lowered, and captured', async () => {
    const order = await anOrderHoldingWhatExpiredTwice();
    await grant(service, merchant, document, '50.00');
    expect((await hold(order, '15.00', at(2 * DAY_MS).toISOString())).body.cashback.to_redeem).toMatchObject({
      ...{ held: '15.00', available: '50.00' },
    });
    const { body } = await merchant.client.post(`/orders/${order.id}/complete`, { redeem: '12.00' });
    expect(body.cashback.to_redeem).toMatchObject({ redeemed: '12.00', available: '50.40' });
    expect((await movementsOf(merchant, document)).slice(4)).toEqual([
      ...['grant 50.00', 'release 5.00', 'expire -5.00', 'release 3.00', 'expire -3.00'],
      ...['release 12.00', 'redeem -12.00', 'earn 0.40'],
    ]);
  });

  it('a hold on expired credits takes the additional amount from available credits', async () => {
    await grant(service, merchant, document, '20.00', { expiresAt: at(HOUR_MS) });
    const order = await aCreatedOrder(merchant, { document, total: '100.00', expires_at: at(DAY_MS).toISOString() });
    await hold(order, '20.00');
    await grant(service, merchant, document, '5.00');
    await until(now() + 2 * HOUR_MS);
    expect((await hold(order, '24.00')).body.cashback.to_redeem).toMatchObject({ held: '24.00', available: '1.00' });
    expect((await movementsOf(merchant, document)).slice(2)).toEqual(['grant 5.00', 'hold -4.00']);
    expect((await cancel(order)).body.cashback.to_redeem.available).toBe('25.00');
  });

  it('an expired credit is reinstated once when all orders that hold it are cancelled at once', async () => {
    await grant(service, merchant, document, '20.00', { expiresAt: at(HOUR_MS) });
    for (const [days, available] of [
      [1, '20.00'],
      [20, '0.00'],
    ] as const) {
      const orders: any[] = [];
      for (let count = 0; count < 5; count++) orders.push(await anOrderHolding('4.00', days));
      await until(now() + (days === 1 ? 2 * HOUR_MS : 9 * DAY_MS));
      const answers = await atOnce(5, (index) => cancel(orders[index]));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      expect(await walletOf(merchant, document)).toMatchObject({ available, held: '0.00', debt: '0.00' });
      expect(await credits()).toHaveLength(1);
    }
  });
});

describe('debts and grants whose credit expired twice', () => {
  it('a credit that is not reinstated a second time repays no debt and makes none', async () => {
    const first = await aCompletedOrder(merchant, { document, total: '200.00' });
    const spender = await anOrderHolding('10.00', 1);
    await merchant.client.post(`/orders/${spender.id}/complete`);
    const order = await anOrderHoldingWhatExpiredTwice();
    await refund(first, '200.00');
    expect(await walletOf(merchant, document)).toMatchObject({ available: '0.00', held: '20.00', debt: '10.00' });
    await cancel(order);
    expect(await walletOf(merchant, document)).toMatchObject({ available: '0.00', held: '0.00', debt: '10.00' });
    expect((await movementsOf(merchant, document)).slice(-2)).toEqual(['release 20.00', 'expire -20.00']);
  });

  it('a refund takes nothing back for cashback of its order that expired twice', async () => {
    const earner = await aCompletedOrder(merchant, { document, total: '400.00' });
    const expiresAt = Date.parse(earner.cashback.to_receive.expires_at as string);
    await until(expiresAt - DAY_MS);
    const first = await anOrderHolding('20.00', 2);
    await until(expiresAt + HOUR_MS);
    await cancel(first);
    const second = await anOrderHolding('20.00', 20);
    await until(now() + 9 * DAY_MS);
    await cancel(second);
    const { body } = await refund(earner, '400.00');
    expect(body).toMatchObject({ cashback_taken_back: '0.00', amount_to_pay_back: '400.00' });
    expect(await walletOf(merchant, document)).toMatchObject({ available: '0.00', debt: '0.00' });
    const [row] = await credits();
    expect(row.original_expires_at).toEqual(new Date(expiresAt));
  });

  it('a void takes back the reinstated amount of a grant, and nothing after it has expired a second time', async () => {
    const voided = async (id: string): Promise<unknown> => (await merchant.client.post(`/grants/${id}/void`)).body;
    const request = { document, amount: '20.00' };
    const ids: string[] = [];
    for (const external_id of ['first', 'second'])
      ids.push(
        (await merchant.client.post('/grants', { external_id: `${document}-${external_id}`, ...request })).body.id,
      );
    const [{ expires_at: expires }] = await credits();
    await until(Number(expires) - DAY_MS);
    const orders = [await anOrderHolding('20.00', 2), await anOrderHolding('20.00', 2)];
    await until(Number(expires) + HOUR_MS);
    for (const id of ids) expect(await voided(id)).toMatchObject({ voided: '0.00', remaining: '0.00' });
    for (const order of orders) await cancel(order);
    expect(await voided(ids[0]!)).toMatchObject({ voided: '20.00', remaining: '0.00' });
    const last = await anOrderHolding('20.00', 20);
    await until(now() + 9 * DAY_MS);
    await cancel(last);
    for (const [index, amount] of ['20.00', '0.00'].entries())
      expect(await voided(ids[index]!)).toMatchObject({ voided: amount, remaining: '0.00' });
    expect(await walletOf(merchant, document)).toMatchObject({ available: '0.00', debt: '0.00' });
  });
});
