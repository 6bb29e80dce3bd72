import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Policy } from '../../src/merchants/policy.js';
import { atOnce } from '../support/client.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { aCart, type Members, type Order } from '../support/shop.js';
import { useMerchant } from '../support/use-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();

describe('what orders earn and refunds take back', () => {
  let shop: TestMerchant;
  const withPolicy = async (policy: Partial<Policy>): Promise<TestMerchant> =>
    (shop = await aMerchant(service, policy));
  beforeEach(async () => {
    await withPolicy({});
  });

  /** An order of a total that is paid in full. */
  const ofTotal = (total: string, members: Members = {}): Members => ({
    total,
    payment_methods: [{ id: 'card', amount: total }],
    ...members,
  });
  const toReceive = ({ cashback }: Order): [amount: string, limitedBy: string | null] => [
    cashback.to_receive.amount,
    cashback.to_receive.limited_by,
  ];
  describe('earn_amount', () => {
    beforeEach(() => withPolicy({ earnRateMaximumBps: 1_000, earnMaximumCents: 5_000 }));

    it('a policy without earn_rate_maximum refuses earn_amount', async () => {
      await withPolicy({});
      await shop.create(ofTotal('100.00', { earn_amount: '0.01' })).refused(422, 'earn_amount_exceeds_maximum', {
        maximum: '0.00',
        errors: [{ pointer: '/earn_amount', detail: 'must be at most 0.00' }],
      });
    });

    it('earn_amount is part of the content: a repeat with another one is 409, and an amendment without it means the rates', async () => {
      const body = anOrder(ofTotal('100.00', { earn_amount: '3.00' }));
      const order = await shop.create(body);
      await shop.create({ ...body, earn_amount: '3.0' }).replayed();
      for (const earn_amount of ['2.00', undefined, null])
        await shop.create({ ...body, earn_amount }).refused(409, 'external_id_conflict', ['/earn_amount']);
      // Also under a policy that would refuse it now.
      await shop.setPolicy({ earnRateMaximumBps: null });
      await shop.create(body).replayed();
      const amended = await shop.amend(order, aCart('100.00'));
      expect([amended.earn_amount, ...toReceive(amended)]).toEqual([null, '5.00', null]);
      // The order keeps the policy that it has.
      expect(toReceive(await shop.amend(order, aCart('100.00', { earn_amount: '10.00' })))).toEqual(['10.00', null]);
    });

    it.each(['-1.00', '1,00', 5, '', [], '1.001'])('earn_amount %j is refused', async (earn_amount) => {
      await shop.create({ earn_amount }).refused(400, 'validation_failed', ['/earn_amount']);
    });
  });

  describe('GET /policy', () => {
    it('GET /policy has the new rules, which are off by default', async () => {
      expect(await shop.policy()).toMatchObject({
        earn_minimum_total: '0.00',
        earn_maximum: null,
        earn_rate_maximum: null,
        redeem_minimum: '0.00',
        grant_daily_maximum: '5000.00',
        upcoming: [],
      });
      await withPolicy({
        earnMinimumTotalCents: 1,
        earnMaximumCents: 0,
        earnRateMaximumBps: 1_250,
        redeemMinimumCents: 99,
      });
      expect(await shop.policy()).toMatchObject({
        earn_minimum_total: '0.01',
        earn_maximum: '0.00',
        earn_rate_maximum: '0.125',
        redeem_minimum: '0.99',
      });
      const { policy } = await shop.quote({ document: aDocument(), total: '1.00' });
      expect(policy).toMatchObject({ earn_maximum: '0.00' });
      expect(policy).not.toHaveProperty('upcoming');
    });
  });

  it('reconcile finds nothing after orders with these rules', () => expectInvariants(service));
});

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

describe('the rules that a merchant reads', () => {
  const merchant = useMerchant(() => aMerchant(service));

  const DEFAULTS = {
    earn_rate: '0.05',
    earn_rates_by_payment_method: {},
    redeem_share: '0.50',
    redeem_minimum_total: '0.00',
    release_days: 8,
    validity_days: 180,
    order_ttl_minutes: 30,
    max_order_ttl_minutes: 10_080,
    grant_maximum: '1000.00',
    time_zone: 'America/Sao_Paulo',
    document_check_digits: false,
  };

  describe('GET /policy', () => {
    it('GET /policy returns the default rules with rates as decimal strings, also when repeated and concurrent', async () => {
      const answers = await atOnce(5, () => merchant.policy().answer);
      for (const answer of [...answers, await merchant.policy().answer])
        expect(answer).toMatchObject({ status: 200, body: DEFAULTS });
    });

    it('GET /policy returns the rules of the merchant that asks', async () => {
      const other = await aMerchant(service, {
        earnRateBps: 725,
        earnRatesByPaymentMethod: { pix: 10_000, boleto: 0 },
        redeemShareBps: 3333,
        redeemMinimumTotalCents: 5000,
        releaseDays: 0,
        validityDays: 1,
        orderTtlMinutes: 60,
        maxOrderTtlMinutes: 90,
        grantMaximumCents: 250,
        timeZone: 'America/Manaus',
      });
      expect(await other.policy()).toMatchObject({
        earn_rate: '0.0725',
        earn_rates_by_payment_method: { pix: '1.00', boleto: '0.00' },
        redeem_share: '0.3333',
        redeem_minimum_total: '50.00',
        release_days: 0,
        validity_days: 1,
        order_ttl_minutes: 60,
        max_order_ttl_minutes: 90,
        grant_maximum: '2.50',
        time_zone: 'America/Manaus',
      });
      expect(await merchant.policy()).toMatchObject(DEFAULTS);
    });

    it('GET /policy returns the rules that an order is quoted with after a change', async () => {
      const shop = await aMerchant(service);
      await shop.setPolicy({ earnRateBps: 1000 });
      expect((await shop.policy()).earn_rate).toBe('0.10');
    });
  });
});
