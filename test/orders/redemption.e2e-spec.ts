import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce, sameAtOnce } from '../support/client.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

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

  it('a repeated PUT /orders/{id}/redemption moves no cashback, and says that it is a repetition', async () => {
    const order = await merchant.orderWith('80.00');
    const first = await merchant.hold(order, '20.00').changed();
    for (const amount of ['20.00', '20', '20.0']) expect(await merchant.hold(order, amount).replayed()).toEqual(first);
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '60.00', held: '20.00' });
    expect(await merchant.movements(order.document)).toEqual(['grant 80.00']);
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

  it('25 concurrent identical PUT /orders/{id}/redemption requests hold the amount once', async () => {
    const order = await merchant.orderWith('80.00');
    const body = await sameAtOnce(25, () => merchant.hold(order, '70.00'));
    expect(body.version).toBe(2);
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '10.00', held: '70.00' });
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

  it('PUT /orders/{id}/redemption returns 404 for an order of another merchant', async () => {
    const document = await merchant.customerWith('80.00');
    const other = await aMerchant(service);
    const order = await merchant.create({ document });
    await other.hold(order, '1.00').refused(404, 'not_found');
    expect(await merchant.wallet(document)).toMatchObject({ held: '0.00' });
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
