import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { aMerchant, anOrder } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();

/** Changes the stored policy of a merchant like another process would. */
const storePolicy = (merchantId: string, policy: Record<string, unknown>): Promise<unknown> =>
  rowsOf(service, 'UPDATE merchants SET policy = ? WHERE id = ?', [JSON.stringify(policy), merchantId]);
const POLICY = {
  earnRateBps: 1000,
  earnRatesByPaymentMethod: {},
  redeemShareBps: 5000,
  redeemMinimumTotalCents: 0,
  releaseDays: 8,
  validityDays: 180,
  orderTtlMinutes: 30,
};

describe('the policy of a merchant', () => {
  it('a policy change by another process applies to new orders within one second', async () => {
    const merchant = await aMerchant(service);
    expect((await merchant.create()).cashback.to_receive.amount).toBe('7.50');
    await storePolicy(merchant.id, POLICY);
    await sleep(1000);
    expect((await merchant.create()).cashback.to_receive.amount).toBe('15.00');
  });

  it('each merchant has its own policy, however many merchants there are', async () => {
    const merchants = [
      await aMerchant(service),
      await aMerchant(service, { earnRateBps: 1000 }),
      await aMerchant(service),
    ];
    for (const _round of ['first', 'second']) {
      const orders = await Promise.all(merchants.map((merchant) => merchant.create()));
      expect(orders.map((order) => order.cashback.to_receive.amount)).toEqual(['7.50', '15.00', '7.50']);
    }
  });

  it('the policy uses the default for a member that was added after it was stored', async () => {
    const merchant = await aMerchant(service);
    const { redeemShareBps: _share, orderTtlMinutes: _ttl, ...stored } = POLICY;
    await storePolicy(merchant.id, stored);
    const order = await merchant.create();
    expect(order.cashback.to_receive.amount).toBe('15.00');
    expect(Date.parse(order.expires_at) - Date.parse(order.created_at)).toBe(30 * 60_000);
  });

  it('the policy stored with an order uses the default for members that were added later', async () => {
    const merchant = await aMerchant(service);
    const request = anOrder();
    const order = await merchant.create(request);
    await rowsOf(
      service,
      "UPDATE orders SET policy = JSON_REMOVE(policy, '$.validityDays', '$.redeemShareBps', '$.earnRatesByPaymentMethod') WHERE id = ?",
      [order.id],
    );
    expect(await merchant.order(order)).toEqual(order);
    expect((await merchant.orders()).data).toEqual([order]);
    expect(await merchant.create(request)).toEqual(order);
    const { status, body } = await merchant.complete(order).answer;
    expect({ status, receive: body.cashback.to_receive.amount }).toEqual({ status: 200, receive: '7.50' });
  });
});
