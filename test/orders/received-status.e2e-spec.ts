import { afterEach, describe, expect, it } from '@jest/globals';
import { expectInvariants } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';

/** Cashback of `merchant` is available after 8 days, and then for 180 days. */
const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

const refund = (order: { id: string }, amount: string): Promise<unknown> =>
  merchant.refund(order, amount, { external_id: `DEV-${amount}` }).answer;

async function received(order: { id: string }, shop: TestMerchant = merchant) {
  const { amount, taken_back, status } = (await shop.order(order)).cashback.to_receive;
  return { amount, taken_back, status };
}

describe('to_receive.status', () => {
  it('to_receive.status is quoted, then pending, then available, and expired from expires_at on', async () => {
    const order = await merchant.create();
    expect(await received(order)).toEqual({ amount: '7.50', taken_back: '0.00', status: 'quoted' });
    const body = await merchant.complete(order);
    expect((await received(order)).status).toBe('pending');
    await service.clock.advanceTo(body.cashback.to_receive.available_at);
    expect((await received(order)).status).toBe('available');
    await service.clock.advanceTo(body.cashback.to_receive.expires_at);
    expect(await received(order)).toEqual({ amount: '7.50', taken_back: '0.00', status: 'expired' });
  });

  it('to_receive.status is partially_taken_back until refunds took back everything or the rest expired', async () => {
    const [one, other] = [await merchant.completed(), await merchant.completed()];
    for (const order of [one, other]) {
      await refund(order, '50.00');
      expect(await received(order)).toEqual({ amount: '7.50', taken_back: '2.50', status: 'partially_taken_back' });
    }
    await refund(one, '100.00');
    await service.clock.advance({ days: 188 });
    expect(await received(one)).toEqual({ amount: '7.50', taken_back: '7.50', status: 'taken_back' });
    expect(await received(other)).toEqual({ amount: '7.50', taken_back: '2.50', status: 'expired' });
    // Nothing is taken back for what expired unspent.
    await refund(other, '100.00');
    expect(await received(other)).toEqual({ amount: '7.50', taken_back: '2.50', status: 'expired' });
  });

  it('to_receive.status is taken_back when a partial refund took the only centavo back', async () => {
    const order = await merchant.completed({ total: '0.30' });
    await refund(order, '0.01');
    expect(await received(order)).toEqual({ amount: '0.01', taken_back: '0.01', status: 'taken_back' });
  });

  it('to_receive.status is none when the order is cancelled or earned nothing, refunded or not', async () => {
    const cancelled = await merchant.create();
    await merchant.cancel(cancelled);
    expect(await received(cancelled)).toEqual({ amount: '0.00', taken_back: '0.00', status: 'none' });
    const shop = await aMerchant(service, { earnRateBps: 0 });
    const order = await shop.completed();
    const nothing = { amount: '0.00', taken_back: '0.00', status: 'none' };
    expect(await received(order, shop)).toEqual(nothing);
    for (const amount of ['50.00', '100.00']) {
      await shop.refund(order, amount, { external_id: amount });
      expect(await received(order, shop)).toEqual(nothing);
    }
  });
});
