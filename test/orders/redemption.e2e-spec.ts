import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aCompletedOrder, aCreatedOrder, aDocument, aMerchant, grant } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { movementsOf, rowsOf, walletOf } from '../support/wallets.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const hold = (order: { id: string }, amount: unknown): Promise<Answer> =>
  merchant.client.put(`/orders/${order.id}/redemption`, { amount });

async function aCustomerWith(amount: string): Promise<string> {
  const document = aDocument();
  await grant(service, merchant, document, amount);
  return document;
}

describe('PUT /orders/{id}/redemption', () => {
  it('PUT /orders/{id}/redemption moves cashback from available to held in the order and the wallet', async () => {
    const document = await aCustomerWith('80.00');
    const order = await aCreatedOrder(merchant, { document, total: '150.00' });
    const { status, body } = await hold(order, '20.00');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: order.id,
      status: 'pending',
      cashback: {
        to_redeem: { available: '60.00', held: '20.00', redeemed: '0.00', maximum: '75.00', limited_by: 'order_share' },
        to_receive: { amount: '6.50', status: 'quoted' },
      },
    });
    expect(await walletOf(merchant, document)).toMatchObject({ available: '60.00', held: '20.00', pending: '0.00' });
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(body);
  });

  it('a repeated PUT /orders/{id}/redemption moves no cashback', async () => {
    const document = await aCustomerWith('80.00');
    const order = await aCreatedOrder(merchant, { document });
    const first = await hold(order, '20.00');
    for (const amount of ['20.00', '20', '20.0'])
      expect(await hold(order, amount)).toMatchObject({ status: 200, body: first.body });
    expect(await walletOf(merchant, document)).toMatchObject({ available: '60.00', held: '20.00' });
    expect(await movementsOf(merchant, document)).toEqual(['grant 80.00']);
  });

  it.each([
    ['a larger one', '50.00', '30.00'],
    ['a smaller one', '5.00', '75.00'],
    ['the maximum', '75.00', '5.00'],
  ])('PUT /orders/{id}/redemption replaces the current hold with %s', async (_what, amount, available) => {
    const document = await aCustomerWith('80.00');
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '20.00');
    expect((await hold(order, amount)).body.cashback.to_redeem).toMatchObject({
      held: amount,
      available,
      maximum: '75.00',
    });
    expect(await walletOf(merchant, document)).toMatchObject({ available, held: amount });
  });

  it('PUT /orders/{id}/redemption with 0.00 releases the hold and can be repeated', async () => {
    const document = await aCustomerWith('80.00');
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '20.00');
    const { version: _version, updated_at: _updatedAt, ...unchanged } = order;
    for (const amount of ['0.00', '0'])
      expect(await hold(order, amount)).toMatchObject({ status: 200, body: { ...unchanged, version: 3 } });
    expect(await walletOf(merchant, document)).toMatchObject({ available: '80.00', held: '0.00' });
    expect(await movementsOf(merchant, document)).toEqual(['grant 80.00']);
  });

  it('PUT /orders/{id}/redemption accepts 0.00 for a customer without a wallet', async () => {
    const order = await aCreatedOrder(merchant);
    expect(await hold(order, '0.00')).toMatchObject({ status: 200, body: order });
  });

  it('PUT /orders/{id}/redemption holds from the credits that expire first and releases to the same credits', async () => {
    const document = aDocument();
    const inDays = (days: number): Date => new Date(service.clock.now().getTime() + days * 86_400_000);
    await grant(service, merchant, document, '10.00', { expiresAt: inDays(30) });
    await grant(service, merchant, document, '10.00', { expiresAt: inDays(10) });
    await grant(service, merchant, document, '10.00', { expiresAt: inDays(20) });
    await grant(service, merchant, document, '10.00', { availableAt: inDays(1), expiresAt: inDays(2) });
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '15.00');
    const left = async (): Promise<string[]> =>
      (
        await rowsOf(
          service,
          'SELECT c.remaining_cents - c.held_cents AS free FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id WHERE w.document = ? ORDER BY c.seq',
          [document],
        )
      ).map((row) => String(row.free));
    expect(await left()).toEqual(['1000', '0', '500', '1000']);
    await hold(order, '0.00');
    expect(await left()).toEqual(['1000', '1000', '1000', '1000']);
  });

  it('an order cannot hold the cashback that another order of the customer holds', async () => {
    const document = await aCustomerWith('30.00');
    const [first, second] = [await aCreatedOrder(merchant, { document }), await aCreatedOrder(merchant, { document })];
    await hold(first, '20.00');
    const refused = await hold(second, '10.01');
    expectProblem(refused, 422, 'redemption_exceeds_maximum');
    expect(refused.body).toMatchObject({ maximum: '10.00', limited_by: 'balance' });
    expect((await hold(second, '10.00')).body.cashback.to_redeem).toMatchObject({ available: '0.00', held: '10.00' });
    await hold(first, '0.00');
    expect((await hold(second, '30.00')).status).toBe(200);
  });

  it('25 concurrent identical PUT /orders/{id}/redemption requests hold the amount once', async () => {
    const document = await aCustomerWith('80.00');
    const order = await aCreatedOrder(merchant, { document });
    const answers = await atOnce(25, () => hold(order, '70.00'));
    expect(answers.map(({ status }) => status)).toEqual(Array(25).fill(200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]!.body.version).toBe(2);
    expect(await walletOf(merchant, document)).toMatchObject({ available: '10.00', held: '70.00' });
  });

  it('25 concurrent PUT /orders/{id}/redemption requests with different amounts leave exactly one hold', async () => {
    const document = await aCustomerWith('80.00');
    const order = await aCreatedOrder(merchant, { document });
    const answers = await atOnce(25, (index) => hold(order, `${index + 50}.00`));
    expect(answers.map(({ status }) => status)).toEqual(Array(25).fill(200));
    const { held, available } = await walletOf(merchant, document);
    expect((await merchant.client.get(`/orders/${order.id}`)).body.cashback.to_redeem).toMatchObject({
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
      const document = aDocument();
      await grant(service, shop, document, balance);
      const order = await aCreatedOrder(shop, { document });
      const over = (Number(maximum) + 0.01).toFixed(2);
      for (const _attempt of ['first', 'second']) {
        const answer = await shop.client.put(`/orders/${order.id}/redemption`, { amount: over });
        expectProblem(answer, 422, 'redemption_exceeds_maximum');
        expect(answer.body).toMatchObject({ maximum, limited_by: limitedBy });
        expect(answer.body.errors).toEqual([{ pointer: '/amount', detail: `must be at most ${maximum}` }]);
      }
      expect(await walletOf(shop, document)).toMatchObject({ available: balance, held: '0.00' });
      expect(await shop.client.put(`/orders/${order.id}/redemption`, { amount: maximum })).toMatchObject({
        status: 200,
      });
    },
  );

  it('PUT /orders/{id}/redemption keeps the current hold when the new amount exceeds the maximum', async () => {
    const document = await aCustomerWith('80.00');
    const order = await aCreatedOrder(merchant, { document });
    const { body } = await hold(order, '20.00');
    expectProblem(await hold(order, '75.01'), 422, 'redemption_exceeds_maximum');
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(body);
  });

  it('PUT /orders/{id}/redemption returns 422 for a customer without a wallet and creates none', async () => {
    const document = aDocument();
    const order = await aCreatedOrder(merchant, { document });
    expectProblem(await hold(order, '0.01'), 422, 'redemption_exceeds_maximum');
    expect((await walletOf(merchant, document)).id).toBeNull();
  });

  it('PUT /orders/{id}/redemption returns 422 when the only cashback is pending', async () => {
    const document = aDocument();
    await aCompletedOrder(merchant, { document, total: '1000.00' });
    const order = await aCreatedOrder(merchant, { document });
    expectProblem(await hold(order, '0.01'), 422, 'redemption_exceeds_maximum');
  });

  it('PUT /orders/{id}/redemption returns 404 for an order of another merchant', async () => {
    const document = await aCustomerWith('80.00');
    const other = await aMerchant(service);
    const order = await aCreatedOrder(merchant, { document });
    expectProblem(await other.client.put(`/orders/${order.id}/redemption`, { amount: '1.00' }), 404, 'not_found');
    expect(await walletOf(merchant, document)).toMatchObject({ held: '0.00' });
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
    const order = await aCreatedOrder(merchant);
    const answer = await hold(order, amount);
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual(['/amount']);
  });

  it.each([
    ['completed', 'complete', undefined, ['partially_refunded', 'refunded']],
    ['cancelled', 'cancel', undefined, []],
    ['partially_refunded', 'complete', '1.00', ['partially_refunded', 'refunded']],
    ['refunded', 'complete', '150.00', []],
  ])('PUT /orders/{id}/redemption returns 409 when the order is %s', async (status, operation, refund, allowed) => {
    const document = await aCustomerWith('80.00');
    const order = await aCreatedOrder(merchant, { document });
    await merchant.client.post(`/orders/${order.id}/${operation}`);
    if (refund) await merchant.client.post(`/orders/${order.id}/refunds`, { external_id: 'DEV-1', amount: refund });
    for (const amount of ['10.00', '0.00']) {
      const answer = await hold(order, amount);
      expectProblem(answer, 409, 'invalid_transition');
      expect(answer.body).toMatchObject({ current_status: status, allowed });
    }
    expect(await walletOf(merchant, document)).toMatchObject({ held: '0.00', available: '80.00' });
  });
});
