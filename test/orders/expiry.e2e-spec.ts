import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { SANDBOX } from '../support/sandbox.js';
import { useService } from '../support/use-service.js';
import { oneAtOnce } from '../support/shop.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
const { service: sandbox } = useService({ env: SANDBOX });
afterEach(async () => {
  for (const used of [service, sandbox]) await expectInvariants(used);
});

describe('the expiry of earned cashback', () => {});

/** What an order shows that earns nothing unless it is renewed or completed. */
const NOTHING_TO_RECEIVE = {
  ...{ amount: '0.00', limited_by: null, taken_back: '0.00', status: 'none' },
  ...{ available_at: null, available_on: null, expires_at: null, expires_on: null },
};

describe('expired orders', () => {
  it('an expired order shows nothing to receive wherever it is read, and its amount again once it is renewed or completed', async () => {
    const [renewed, completed] = [await merchant.create(), await merchant.create()];
    expect(renewed.cashback.to_receive).toMatchObject({ amount: '7.50', status: 'quoted' });
    await service.clock.advance({ minutes: 30 });
    for (const { id, external_id, document } of [renewed, completed]) {
      const order = await merchant.order({ id });
      expect(order).toMatchObject({ status: 'expired', operations: ['renew', 'complete', 'cancel'] });
      expect(order.cashback.to_receive).toEqual(NOTHING_TO_RECEIVE);
      expect(await merchant.orderByExternalId(external_id)).toEqual(order);
      expect((await merchant.searchOrders({ document })).data).toEqual([order]);
      expect((await merchant.orders(`external_id=${external_id}`)).data).toEqual([order]);
      const expiry = (await eventsOf(service, merchant)).find(
        ({ type, data }) => type === 'order.expired' && data.order?.id === id,
      );
      expect(expiry!.data.order!.cashback.to_receive).toEqual(NOTHING_TO_RECEIVE);
    }
    expect((await merchant.hold(renewed, '0.00')).cashback.to_receive).toMatchObject({
      amount: '7.50',
      status: 'quoted',
    });
    expect((await merchant.complete(completed)).cashback.to_receive).toMatchObject({
      amount: '7.50',
      status: 'pending',
    });
  });

  it('a refund of an order that is past its expires_at says that the order has expired, also before a sweep', async () => {
    const order = await merchant.create();
    service.clock.skip(30 * 60_000);
    for (const _attempt of ['first', 'second']) {
      await merchant
        .refund(order, '1.00')
        .refused(409, 'invalid_transition', { current_status: 'expired', operations: ['renew', 'complete', 'cancel'] });
    }
  });

  it('completing an expired order without redeem returns 409 with what it held, and changes nothing', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    await service.clock.advance({ minutes: 30 });
    const expired = await merchant.order(order);
    const lapsed = {
      ...{ lapsed: '20.00', maximum: '75.00', next_action: 'fix_request' },
      detail: expect.stringContaining('send redeem "20.00" if the customer was charged less, or "0.00" if not'),
    };
    await atOnce(5, (index) =>
      merchant.complete(order, [undefined, {}, { redeem: null }][index % 3]).refused(409, 'redemption_lapsed', lapsed),
    );
    expect(await merchant.order(order)).toEqual(expired);
    expect(await merchant.complete(order, { redeem: '0.00' })).toMatchObject({
      status: 'completed',
      amount_to_pay: '150.00',
      cashback: { to_redeem: { redeemed: '0.00', lapsed: '0.00' }, to_receive: { amount: '7.50' } },
    });
  });

  it('an expired order can be completed with the remaining balance when another order redeemed part of its hold', async () => {
    const order = await merchant.orderWith('50.00');
    await merchant.hold(order, '40.00');
    await service.clock.advance({ minutes: 30 });
    await merchant.completed({ document: order.document }, { redeem: '35.00' });
    for (const request of [{ redeem: '40.00' }, { redeem: '15.01' }]) {
      await merchant
        .complete(order, request)
        .refused(409, 'redemption_no_longer_available', { maximum: '15.00', limited_by: 'balance' });
    }
    expect(await merchant.order(order)).toMatchObject({
      status: 'expired',
      cashback: { to_redeem: { maximum: '15.00' } },
    });
    expect((await merchant.complete(order, { redeem: '15.00' })).cashback.to_redeem).toMatchObject({
      redeemed: '15.00',
      available: '0.00',
    });
  });

  it('only one of 10 expired orders that are completed at once redeems the balance', async () => {
    const first = await merchant.orderWith('20.00');
    const others = await atOnce(9, () => merchant.create({ document: first.document }));
    const orders = [first, ...others];
    await merchant.hold(first, '20.00');
    await service.clock.advance({ minutes: 30 });
    await oneAtOnce(10, (index) => merchant.complete(orders[index]!, { redeem: '20.00' }), 409, {
      ...{ code: 'redemption_no_longer_available', maximum: '0.00', next_action: 'fix_request' },
      detail: expect.stringContaining('first decide who pays the difference'),
    });
    expect((await merchant.wallet(first.document)).available).toBe('0.00');
  });
});

describe('cashback that expires while it is held', () => {
  it('wallets and orders show expired cashback the same way before and after it is written off', async () => {
    const order = await merchant.orderWith('30.00', {}, { expiresAt: service.clock.inMinutes(10) });
    const other = await merchant.create({ document: order.document });
    await merchant.hold(order, '12.00');
    service.clock.skip(11 * 60_000);
    const seen = async (): Promise<unknown> => [
      await merchant.wallet(order.document),
      (await merchant.order(order)).cashback,
      (await merchant.order(other)).cashback,
    ];
    const before = await seen();
    expect(before).toMatchObject([
      { available: '0.00', held: '12.00' },
      { to_redeem: { available: '0.00', held: '12.00', maximum: '12.00' } },
      { to_redeem: { available: '0.00', maximum: '0.00' } },
    ]);
    await service.clock.advance({});
    expect(await merchant.movements(order.document)).toEqual(['grant 30.00', 'expire -18.00']);
    expect(await seen()).toEqual(before);
  });
});
