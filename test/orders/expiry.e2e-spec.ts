import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aCompletedOrder, aCreatedOrder, aDocument, grant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';
import { movementsOf, startOfDayAfter, statementOf, walletOf } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

const read = async (order: { id: string }): Promise<any> => (await merchant.client.get(`/orders/${order.id}`)).body;
const complete = (order: { id: string }, body?: unknown): Promise<Answer> =>
  merchant.client.post(`/orders/${order.id}/complete`, body);
const hold = async (order: { id: string }, amount: string): Promise<any> => {
  const { status, body } = await merchant.client.put(`/orders/${order.id}/redemption`, { amount });
  expect(status).toBe(200);
  return body;
};
const inMinutes = (minutes: number): Date => new Date(service.clock.now().getTime() + minutes * 60_000);
/** Sets the clock to just before an instant, then exactly to it. */
const until = (instant: string, offsetMs = 0): Promise<void> =>
  service.clock.advance({ ms: Date.parse(instant) + offsetMs - service.clock.now().getTime() });

async function anOrderWith(balance: string, options: { availableAt?: Date; expiresAt?: Date } = {}): Promise<any> {
  const document = aDocument();
  await grant(service, merchant, document, balance, options);
  return aCreatedOrder(merchant, { document });
}

describe('the expiry of earned cashback', () => {
  it('earned cashback is pending, then available for 180 days, then expired', async () => {
    const order = await aCompletedOrder(merchant);
    const { available_at, expires_at } = order.cashback.to_receive;
    await until(available_at, -30_000);
    expect(await walletOf(merchant, order.document)).toMatchObject({ pending: '7.50', available: '0.00' });
    expect((await read(order)).cashback.to_receive.status).toBe('pending');
    await until(available_at);
    expect(await walletOf(merchant, order.document)).toMatchObject({
      pending: '0.00',
      available: '7.50',
      next_release: null,
      next_expiry: { amount: '7.50', at: expires_at },
    });
    expect((await read(order)).cashback).toMatchObject({
      to_receive: { status: 'available' },
      to_redeem: { available: '7.50' },
    });
    await until(expires_at, -30_000);
    expect((await walletOf(merchant, order.document)).available).toBe('7.50');
    await until(expires_at);
    expect(await walletOf(merchant, order.document)).toMatchObject({
      pending: '0.00',
      available: '0.00',
      next_expiry: null,
    });
    expect((await aCreatedOrder(merchant, { document: order.document })).cashback.to_redeem).toMatchObject({
      available: '0.00',
      maximum: '0.00',
    });
    expect(await movementsOf(merchant, order.document)).toEqual(['earn 7.50', 'expire -7.50']);
    const [, expiry] = await statementOf(merchant, order.document);
    expect(expiry).toMatchObject({
      effective_at: expires_at,
      balance: '0.00',
      order_id: null,
    });
  });

  it('cashback can be redeemed by an order completed just before it expires', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '20.00', { expiresAt: inMinutes(1) });
    const order = await aCreatedOrder(merchant, { document });
    await service.clock.advance({ seconds: 55 });
    expect((await complete(order, { redeem: '20.00' })).body.cashback.to_redeem.redeemed).toBe('20.00');
  });
});

describe('expired orders', () => {
  it('an order expires at its expires_at and its hold becomes available to the customer', async () => {
    const order = await anOrderWith('80.00');
    await hold(order, '20.00');
    await until(order.expires_at, -30_000);
    expect(await read(order)).toMatchObject({
      status: 'pending',
      cashback: { to_redeem: { held: '20.00', available: '60.00' } },
    });
    await until(order.expires_at);
    expect(await read(order)).toMatchObject({
      status: 'expired',
      amount_to_pay: '150.00',
      cashback: {
        to_redeem: { held: '0.00', lapsed: '20.00', available: '80.00', maximum: '75.00' },
        to_receive: { amount: '7.50', status: 'quoted' },
      },
    });
    expect(await walletOf(merchant, order.document)).toMatchObject({ held: '0.00', available: '80.00' });
  });

  it('a refund of an order that is past its expires_at says that the order has expired, also before a sweep', async () => {
    const order = await aCreatedOrder(merchant);
    service.clock.skip(30 * 60_000);
    for (const _attempt of ['first', 'second']) {
      const answer = await merchant.client.post(`/orders/${order.id}/refunds`, {
        external_id: 'DEV-1',
        amount: '1.00',
      });
      expectProblem(answer, 409, 'invalid_transition');
      expect(answer.body).toMatchObject({ current_status: 'expired', operations: ['renew', 'complete', 'cancel'] });
    }
  });

  it('a new order can redeem the cashback that an expired order held', async () => {
    const order = await anOrderWith('50.00');
    await hold(order, '50.00');
    await service.clock.advance({ minutes: 30 });
    const next = await aCreatedOrder(merchant, { document: order.document });
    expect(next.cashback.to_redeem).toMatchObject({ available: '50.00', maximum: '50.00' });
    expect((await hold(next, '50.00')).cashback.to_redeem).toMatchObject({ held: '50.00', available: '0.00' });
    expect(await movementsOf(merchant, order.document)).toEqual(['grant 50.00']);
  });

  it('completing an expired order without redeem returns 409 with what it held, and changes nothing', async () => {
    const order = await anOrderWith('80.00');
    await hold(order, '20.00');
    await service.clock.advance({ minutes: 30 });
    const expired = await read(order);
    for (const answer of await atOnce(5, (index) => complete(order, [undefined, {}, { redeem: null }][index % 3]))) {
      expectProblem(answer, 409, 'redemption_lapsed');
      expect(answer.body).toMatchObject({ lapsed: '20.00', maximum: '75.00', next_action: 'fix_request' });
      expect(answer.body.detail).toContain('send redeem "20.00" if the customer was charged less, or "0.00" if not');
    }
    expect(await read(order)).toEqual(expired);
    expect(await read({ id: (await complete(order, { redeem: '0.00' })).body.id })).toMatchObject({
      status: 'completed',
      amount_to_pay: '150.00',
      cashback: { to_redeem: { redeemed: '0.00', lapsed: '0.00' }, to_receive: { amount: '7.50' } },
    });
  });

  it('an expired order that held nothing is completed without redeem', async () => {
    const order = await anOrderWith('80.00');
    await hold(order, '20.00');
    await hold(order, '0.00');
    await service.clock.advance({ minutes: 30 });
    expect((await read(order)).cashback.to_redeem.lapsed).toBe('0.00');
    expect(await complete(order)).toMatchObject({ status: 200, body: { amount_to_pay: '150.00' } });
  });

  it('an expired order can be completed and holds its cashback again', async () => {
    const order = await anOrderWith('80.00');
    await hold(order, '20.00');
    await service.clock.advance({ days: 2 });
    const { status, body } = await complete(order, { redeem: '20.00' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'completed',
      cashback: { to_redeem: { redeemed: '20.00', available: '60.00' }, to_receive: { amount: '6.50' } },
    });
    expect(body.cashback.to_receive.available_at).toBe(startOfDayAfter(body.completed_at, 8));
    expect(await complete(order)).toMatchObject({ status: 200, body });
    expect(await walletOf(merchant, order.document)).toMatchObject({
      available: '60.00',
      held: '0.00',
      pending: '6.50',
    });
  });

  it('an expired order can be completed with a different redemption from the one it held', async () => {
    const order = await anOrderWith('80.00');
    await hold(order, '20.00');
    await service.clock.advance({ days: 2 });
    expect((await complete(order, { redeem: '75.00' })).body.cashback.to_redeem).toMatchObject({
      redeemed: '75.00',
      available: '5.00',
    });
  });

  it('an expired order can be completed with the remaining balance when another order redeemed part of its hold', async () => {
    const order = await anOrderWith('50.00');
    await hold(order, '40.00');
    await service.clock.advance({ minutes: 30 });
    await aCompletedOrder(merchant, { document: order.document }, { redeem: '35.00' });
    for (const request of [{ redeem: '40.00' }, { redeem: '15.01' }]) {
      const answer = await complete(order, request);
      expectProblem(answer, 409, 'redemption_no_longer_available');
      expect(answer.body).toMatchObject({ maximum: '15.00', limited_by: 'balance' });
    }
    expect(await read(order)).toMatchObject({ status: 'expired', cashback: { to_redeem: { maximum: '15.00' } } });
    expect((await complete(order, { redeem: '15.00' })).body.cashback.to_redeem).toMatchObject({
      redeemed: '15.00',
      available: '0.00',
    });
  });

  it('completing an expired order returns 422 when the redemption exceeds the share of the total', async () => {
    const order = await anOrderWith('80.00');
    await service.clock.advance({ minutes: 30 });
    const answer = await complete(order, { redeem: '75.01' });
    expectProblem(answer, 422, 'redemption_exceeds_maximum');
    expect(answer.body).toMatchObject({ maximum: '75.00', limited_by: 'order_share' });
  });

  it('only one of 10 expired orders that are completed at once redeems the balance', async () => {
    const first = await anOrderWith('20.00');
    const others = await atOnce(9, () => aCreatedOrder(merchant, { document: first.document }));
    const orders = [first, ...others];
    await hold(first, '20.00');
    await service.clock.advance({ minutes: 30 });
    const answers = await atOnce(10, (index) => complete(orders[index], { redeem: '20.00' }));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expectProblem(answer, 409, 'redemption_no_longer_available');
      expect(answer.body).toMatchObject({ maximum: '0.00', next_action: 'fix_request' });
      expect(answer.body.detail).toContain('first decide who pays the difference');
    }
    expect((await walletOf(merchant, first.document)).available).toBe('0.00');
  });
});

describe('cashback that expires while it is held', () => {
  it('cashback that expires while it is held can be redeemed', async () => {
    const order = await anOrderWith('20.00', { expiresAt: inMinutes(10) });
    await hold(order, '20.00');
    await service.clock.advance({ minutes: 20 });
    expect((await read(order)).cashback.to_redeem).toMatchObject({
      held: '20.00',
      available: '0.00',
      maximum: '20.00',
    });
    expect((await complete(order)).body.cashback.to_redeem).toMatchObject({ redeemed: '20.00', available: '0.00' });
  });

  it('cashback that expires while it is held expires at once when its order expires after it', async () => {
    const expiresAt = inMinutes(10);
    const order = await anOrderWith('30.00', { expiresAt });
    await hold(order, '20.00');
    await until(order.expires_at);
    expect(await walletOf(merchant, order.document)).toMatchObject({
      ...{ available: '0.00', held: '0.00', next_expiry: null },
    });
    expect((await read(order)).cashback.to_redeem).toMatchObject({ available: '0.00', lapsed: '20.00' });
    expectProblem(await complete(order, { redeem: '20.00' }), 409, 'redemption_no_longer_available');
    await complete(order, { redeem: '0.00' });
    expect(await movementsOf(merchant, order.document)).toEqual([
      ...['grant 30.00', 'expire -10.00', 'expire -20.00', 'earn 7.50'],
    ]);
    const [, first, second] = await statementOf(merchant, order.document);
    expect([first.effective_at, second.effective_at]).toEqual(Array(2).fill(expiresAt.toISOString()));
  });

  it('wallets and orders show expired cashback the same way before and after it is written off', async () => {
    const order = await anOrderWith('30.00', { expiresAt: inMinutes(10) });
    const other = await aCreatedOrder(merchant, { document: order.document });
    await hold(order, '12.00');
    service.clock.skip(11 * 60_000);
    const seen = async (): Promise<unknown> => [
      await walletOf(merchant, order.document),
      (await read(order)).cashback,
      (await read(other)).cashback,
    ];
    const before = await seen();
    expect(before).toMatchObject([
      { available: '0.00', held: '12.00' },
      { to_redeem: { available: '0.00', held: '12.00', maximum: '12.00' } },
      { to_redeem: { available: '0.00', maximum: '0.00' } },
    ]);
    await service.clock.advance({});
    expect(await movementsOf(merchant, order.document)).toEqual(['grant 30.00', 'expire -18.00']);
    expect(await seen()).toEqual(before);
  });

  it('cashback keeps its own expiry date when the hold expires first', async () => {
    const expiresAt = inMinutes(45);
    const order = await anOrderWith('20.00', { expiresAt });
    await hold(order, '20.00');
    await service.clock.advance({ minutes: 40 });
    expect((await walletOf(merchant, order.document)).next_expiry).toEqual({
      amount: '20.00',
      at: expiresAt.toISOString(),
    });
    await service.clock.advance({ minutes: 10 });
    expect((await walletOf(merchant, order.document)).available).toBe('0.00');
  });
});
