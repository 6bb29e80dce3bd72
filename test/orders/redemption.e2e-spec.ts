import { describe, expect, it } from '@jest/globals';
import { atOnce, sameAtOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants, pointersOf } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { oneAtOnce } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });

describe('PUT /orders/{id}/redemption', () => {
  it('PUT /orders/{id}/redemption moves cashback from available to held in the order and the wallet', async () => {
    const order = await merchant.orderWith('80.00', { total: '150.00' });
    const body = await merchant.hold(order, '20.00');
    expect(body).toMatchObject({
      id: order.id,
      status: 'pending',
      cashback: {
        to_redeem: { available: '60.00', held: '20.00', redeemed: '0.00', maximum: '75.00', limited_by: 'order_share' },
        to_receive: { amount: '6.50', status: 'quoted' },
      },
    });
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '60.00', held: '20.00', pending: '0.00' });
    expect(await merchant.order(order)).toEqual(body);
  });

  it('PUT /orders/{id}/redemption with 0.00 releases the hold and can be repeated', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    const { version: _version, updated_at: _updatedAt, ...unchanged } = order;
    const released = await merchant.hold(order, '0.00').changed();
    expect(released).toMatchObject({ ...unchanged, version: 3 });
    for (const amount of ['0.00', '0']) expect(await merchant.hold(order, amount).replayed()).toEqual(released);
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '80.00', held: '0.00' });
    expect(await merchant.movements(order.document)).toEqual(['grant 80.00']);
  });

  it('PUT /orders/{id}/redemption accepts 0.00 for a customer without a wallet', async () => {
    const order = await merchant.create();
    expect(await merchant.hold(order, '0.00').replayed()).toEqual(order);
  });

  it('a PUT /orders/{id}/redemption that changes only expires_at is no repetition, and neither is a renewal', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    const expires_at = service.clock.inMinutes(45);
    const renewed = await merchant.hold(order, '20.00', expires_at).changed();
    expect(await merchant.hold(order, '20.00', expires_at).replayed()).toEqual(renewed);
    expect(await merchant.hold(order, '20.00').replayed()).toEqual(renewed);
    await service.clock.advance({ minutes: 46 });
    const again = await merchant.hold(order, '20.00').changed();
    expect(again).toMatchObject({ status: 'pending', cashback: { to_redeem: { held: '20.00' } } });
    expect(await merchant.hold(order, '20.00').replayed()).toEqual(again);
    await merchant.hold(order, '75.01').refused(422, 'redemption_exceeds_maximum');
  });

  it('25 concurrent PUT /orders/{id}/redemption requests with different amounts leave exactly one hold', async () => {
    const order = await merchant.orderWith('80.00');
    const answers = await atOnce(25, (index) => merchant.hold(order, `${index + 50}.00`).answer);
    expect(answers.map(({ status }) => status)).toEqual(Array(25).fill(200));
    const { held, available } = await merchant.wallet(order.document);
    expect((await merchant.order(order)).cashback.to_redeem).toMatchObject({
      held,
      available,
    });
    expect(Number(held) + Number(available)).toBe(80);
  });
});

describe('PUT /orders/{id}/redemption errors', () => {
  it.each([
    ['balance', '30.00', {}, '30.00'],
    ['order_share', '500.00', {}, '75.00'],
    ['minimum_total', '30.00', { redeemMinimumTotalCents: 15_001 }, '0.00'],
    [null, '500.00', { redeemShareBps: 10_000 }, '150.00'],
  ])(
    'PUT /orders/{id}/redemption returns 422 for one centavo above the maximum with limited_by %s',
    async (limitedBy, balance, policy, maximum) => {
      const shop = await aMerchant(service, policy);
      const order = await shop.orderWith(balance);
      const over = (Number(maximum) + 0.01).toFixed(2);
      for (const _attempt of ['first', 'second']) {
        const problem = await shop
          .hold(order, over)
          .refused(422, 'redemption_exceeds_maximum', { maximum, limited_by: limitedBy });
        expect(problem.errors).toEqual([{ pointer: '/amount', detail: `must be at most ${maximum}` }]);
      }
      expect(await shop.wallet(order.document)).toMatchObject({ available: balance, held: '0.00' });
      expect(await shop.hold(order, maximum).answer).toMatchObject({
        status: 200,
      });
    },
  );

  it('PUT /orders/{id}/redemption returns 422 for a customer without a wallet and creates none', async () => {
    const document = aDocument();
    const order = await merchant.create({ document });
    await merchant.hold(order, '0.01').refused(422, 'redemption_exceeds_maximum');
    expect((await merchant.wallet(document)).id).toBeNull();
  });

  it.each([
    [undefined],
    [null],
    [20],
    [true],
    ['-1.00'],
    ['20,00'],
    ['1e1'],
    ['20.001'],
    [' 20'],
    [''],
    [['20.00']],
    [{ amount: '20.00' }],
    ['9999999999'],
  ])('PUT /orders/{id}/redemption returns 400 when the amount is %j', async (amount) => {
    const order = await merchant.create();
    await merchant.hold(order, amount).refused(400, 'validation_failed', ['/amount']);
  });
});

const DAY = 24 * 60;
const inMinutes = (minutes: number): string => new Date(service.clock.now().getTime() + minutes * 60_000).toISOString();

describe('expires_at of POST /orders', () => {
  it('POST /orders accepts an expires_at, and the order and its hold last until then', async () => {
    const document = await merchant.customerWith('80.00');
    const expiresAt = inMinutes(3 * DAY);
    const order = await merchant.create({ document, expires_at: expiresAt });
    expect(order.expires_at).toBe(expiresAt);
    await merchant.hold(order, '20.00');
    await service.clock.advance({ days: 2, hours: 23 });
    expect(await merchant.order(order)).toMatchObject({ status: 'pending' });
    expect(await merchant.wallet(document)).toMatchObject({ available: '60.00', held: '20.00' });
    await service.clock.advance({ hours: 1 });
    expect(await merchant.order(order)).toMatchObject({ status: 'expired' });
    expect(await merchant.wallet(document)).toMatchObject({ available: '80.00', held: '0.00' });
  });

  it.each([
    ['in the past', -1],
    ['now', 0],
    ['less than a minute ahead', 0.9],
    ['more than 7 days ahead', 7 * DAY + 1],
  ])('POST /orders returns 400 with the bounds when expires_at is %s', async (_, minutes) => {
    for (const _attempt of ['first', 'second']) {
      const order = anOrder({ expires_at: inMinutes(minutes) });
      await merchant.create(order).refused(400, 'validation_failed', {
        errors: [
          {
            pointer: '/expires_at',
            detail: expect.stringMatching(/^must be from 1 to 10080 minutes in the future: from .*Z to .*Z$/),
          },
        ],
      });
      expect((await merchant.orders(`external_id=${order.external_id}`)).data).toEqual([]);
    }
  });

  it.each(['2026-11-23', 'tomorrow', 1_800_000_000, true, {}])(
    'POST /orders returns 400 when expires_at is %j',
    async (expires_at) => {
      await merchant.create({ expires_at }).refused(400, 'validation_failed', ['/expires_at']);
    },
  );

  it('the policy of a merchant bounds its expires_at', async () => {
    const shop = await aMerchant(service, { maxOrderTtlMinutes: 60 });
    await shop.create({ expires_at: inMinutes(59) });
    await shop.create({ expires_at: inMinutes(61) }).refused(400, 'validation_failed');
  });

  it('POST /orders replays an order after its expires_at has passed', async () => {
    const order = anOrder({ expires_at: inMinutes(2) });
    const body = await merchant.create(order);
    await service.clock.advance({ minutes: 3 });
    const again = await merchant.create(order).answer;
    const { updated_at } = again.body;
    const operations = ['renew', 'complete', 'cancel'];
    const nothing = { available_at: null, expires_at: null, available_on: null, expires_on: null };
    const to_receive = { amount: '0.00', limited_by: null, taken_back: '0.00', status: 'none', ...nothing };
    const cashback = { ...body.cashback, to_receive };
    const expired = { ...body, status: 'expired', version: 2, updated_at, operations, cashback };
    expect(again).toMatchObject({ status: 201, body: expired });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('POST /orders returns 409 when expires_at differs from the earlier request', async () => {
    const order = anOrder({ expires_at: inMinutes(10) });
    await merchant.create(order);
    for (const minutes of [20, -20]) {
      await merchant
        .create({ ...order, expires_at: inMinutes(minutes) })
        .refused(409, 'external_id_conflict', ['/expires_at']);
    }
    const inSaoPaulo = new Date(Date.parse(order.expires_at as string) - 3 * 3_600_000)
      .toISOString()
      .replace('Z', '-03:00');
    await merchant.create({ ...order, expires_at: inSaoPaulo });
  });

  it('POST /orders replays the first request of a renewed order and of an erased customer', async () => {
    const order = anOrder({ expires_at: inMinutes(10) });
    const body = await merchant.create(order);
    await merchant.hold(body, '0.00', inMinutes(60));
    const again = await merchant.create(order).answer;
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    const { pseudonym } = await merchant.erase(order.document);
    expect(await merchant.create(order)).toMatchObject({ document: pseudonym });
    const other = await merchant.create({ ...order, total: '151.00', expires_at: inMinutes(30) }).answer;
    expect(pointersOf(other)).toEqual(['/expires_at', '/total']);
    expect(pointersOf(await merchant.create({ ...order, total: '151.00' }).answer)).toEqual(['/total']);
  });
});

describe('expires_at of PUT /orders/{id}/redemption', () => {
  it('PUT /orders/{id}/redemption with expires_at moves the expiry of a pending order and of its hold', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    const expiresAt = inMinutes(2 * DAY);
    const body = await merchant.hold(order, '20.00', expiresAt);
    expect(body).toMatchObject({ status: 'pending', expires_at: expiresAt, version: 3 });
    await service.clock.advance({ days: 1 });
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '60.00', held: '20.00' });
    expect(await merchant.hold(order, '10.00')).toMatchObject({ expires_at: expiresAt, version: 4 });
    await service.clock.advance({ days: 1 });
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '80.00', held: '0.00' });
  });

  it('a repeated renewal changes nothing, also in its last minute', async () => {
    const order = await merchant.orderWith('80.00');
    await service.clock.advance({ minutes: 31 });
    const expiresAt = inMinutes(10);
    const body = await merchant.hold(order, '20.00', expiresAt);
    await service.clock.advance({ minutes: 9, seconds: 30 });
    expect(await merchant.hold(order, '20.00', expiresAt)).toMatchObject(body);
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '60.00', held: '20.00' });
  });

  it('10 concurrent renewals of an order hold its cashback once', async () => {
    const order = await merchant.orderWith('80.00');
    await service.clock.advance({ minutes: 31 });
    const expiresAt = inMinutes(60);
    const body = await sameAtOnce(10, () => merchant.hold(order, '70.00', expiresAt));
    expect(body).toMatchObject({ version: 3, cashback: { to_redeem: { held: '70.00' } } });
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '10.00', held: '70.00' });
  });
});

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

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
