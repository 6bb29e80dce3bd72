import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aCompletedOrder, aCreatedOrder, aDocument, aMerchant, grant } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { movementsOf, startOfDayAfter, walletOf } from '../support/wallets.js';

const { service, merchant } = useService({
  merchant: (service) => aMerchant(service, { earnRatesByPaymentMethod: { pix: 700 } }),
});
afterEach(() => expectInvariants(service));

const complete = (order: { id: string }, body?: unknown): Promise<Answer> =>
  merchant.client.post(`/orders/${order.id}/complete`, body);

async function anOrderWith(
  balance: string,
  members: Record<string, unknown> = {},
): Promise<{ id: string; document: string }> {
  const document = aDocument();
  await grant(service, merchant, document, balance);
  return aCreatedOrder(merchant, { document, ...members });
}

describe('POST /orders/{id}/complete', () => {
  it('POST /orders/{id}/complete grants the cashback as pending until its release date', async () => {
    const order = await aCreatedOrder(merchant);
    await service.clock.advance({ minutes: 5 });
    const { status, body } = await complete(order);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: order.id,
      status: 'completed',
      cashback: {
        to_redeem: { maximum: '0.00', limited_by: null, held: '0.00', redeemed: '0.00' },
        to_receive: {
          amount: '7.50',
          taken_back: '0.00',
          status: 'pending',
          available_at: startOfDayAfter(body.completed_at, 8),
          expires_at: startOfDayAfter(body.completed_at, 188),
        },
      },
      refunded: { amount: '0.00', amount_to_pay_back: '0.00' },
      cancelled_at: null,
    });
    expect(Date.parse(body.completed_at) - Date.parse(body.created_at)).toBeGreaterThanOrEqual(5 * 60_000);
    expect(await walletOf(merchant, order.document)).toMatchObject({
      available: '0.00',
      pending: '7.50',
      next_release: { amount: '7.50', at: body.cashback.to_receive.available_at },
      next_expiry: null,
    });
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(body);
  });

  it('POST /orders/{id}/complete redeems the held cashback', async () => {
    const order = await anOrderWith('80.00');
    await merchant.client.put(`/orders/${order.id}/redemption`, { amount: '20.00' });
    const { body } = await complete(order);
    expect(body.cashback).toMatchObject({
      to_redeem: { available: '60.00', held: '0.00', redeemed: '20.00' },
      to_receive: { amount: '6.50' },
    });
    expect(await movementsOf(merchant, order.document)).toEqual(['grant 80.00', 'redeem -20.00', 'earn 6.50']);
  });

  it('POST /orders/{id}/complete can hold and redeem cashback in one step', async () => {
    const order = await anOrderWith('80.00');
    const { status, body } = await complete(order, { redeem: '20.00' });
    expect({ status, redeemed: body.cashback.to_redeem.redeemed }).toEqual({ status: 200, redeemed: '20.00' });
    expect(await walletOf(merchant, order.document)).toMatchObject({
      available: '60.00',
      held: '0.00',
      pending: '6.50',
    });
  });

  it.each([
    ['more cashback than was held', '50.00'],
    ['less cashback than was held', '5.00'],
    ['no cashback although some was held', '0.00'],
    ['exactly the held cashback', '20'],
  ])('POST /orders/{id}/complete can redeem %s', async (_what, redeem) => {
    const order = await anOrderWith('80.00');
    await merchant.client.put(`/orders/${order.id}/redemption`, { amount: '20.00' });
    const redeemed = Number(redeem).toFixed(2);
    expect((await complete(order, { redeem })).body.cashback.to_redeem).toMatchObject({
      redeemed,
      available: (80 - Number(redeem)).toFixed(2),
    });
  });

  it('POST /orders/{id}/complete grants cashback by the payment methods that it receives', async () => {
    const order = await aCreatedOrder(merchant, { total: '100.00' });
    const { body } = await complete(order, { payment_methods: [{ id: 'pix', amount: '60' }] });
    expect(body.payment_methods).toEqual([{ id: 'pix', amount: '60.00', earn_rate: '0.07' }]);
    expect(body.cashback.to_receive.amount).toBe('6.20');
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(body);
  });

  it('POST /orders/{id}/complete earns no cashback and creates no credit for an order paid entirely with cashback', async () => {
    const shop = await aMerchant(service, { redeemShareBps: 10_000 });
    const document = aDocument();
    await grant(service, shop, document, '150.00');
    const order = await aCompletedOrder(shop, { document }, { redeem: '150.00' });
    expect(order.cashback).toMatchObject({ to_redeem: { redeemed: '150.00' }, to_receive: { amount: '0.00' } });
    expect(await movementsOf(shop, document)).toEqual(['grant 150.00', 'redeem -150.00']);
  });

  it('POST /orders/{id}/complete makes the cashback available at once when the policy has zero release days', async () => {
    const shop = await aMerchant(service, { releaseDays: 0 });
    const order = await aCompletedOrder(shop);
    expect(order.cashback).toMatchObject({ to_redeem: { available: '7.50' }, to_receive: { status: 'available' } });
  });
});

describe('a repeated POST /orders/{id}/complete', () => {
  it('a repeated POST /orders/{id}/complete returns the same order and moves no cashback', async () => {
    const order = await anOrderWith('80.00');
    const request = { redeem: '20.00', payment_methods: [{ id: 'pix', amount: '130.00' }] };
    const { body } = await complete(order, request);
    for (const again of [
      request,
      undefined,
      {},
      { redeem: '20' },
      { redeem: null, payment_methods: null },
      { payment_methods: [{ id: 'pix', amount: '130' }] },
    ]) {
      expect(await complete(order, again)).toMatchObject({ status: 200, body });
    }
    expect(await walletOf(merchant, order.document)).toMatchObject({
      available: '60.00',
      pending: body.cashback.to_receive.amount,
    });
  });

  it('a repeated POST /orders/{id}/complete returns 409 with a pointer to each value that differs', async () => {
    const order = await anOrderWith('80.00');
    const { body } = await complete(order, { redeem: '20.00' });
    const answer = await complete(order, { redeem: '20.01', payment_methods: [{ id: 'pix', amount: '150.00' }] });
    expectProblem(answer, 409, 'invalid_transition');
    expect(answer.body).toMatchObject({
      current_status: 'completed',
      allowed: ['partially_refunded', 'refunded'],
      operations: ['refund'],
    });
    expect(pointersOf(answer)).toEqual(['/payment_methods/0/id', '/redeem']);
    // A completion request has no external_id.
    expect(JSON.stringify(answer.body.errors)).not.toContain('external_id');
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(body);
  });

  it('a repeated POST /orders/{id}/complete returns the current order after it was refunded', async () => {
    const order = await aCompletedOrder(merchant);
    await merchant.client.post(`/orders/${order.id}/refunds`, { external_id: 'DEV-1', amount: '150.00' });
    expect(await complete(order)).toMatchObject({ status: 200, body: { status: 'refunded' } });
  });

  it('25 concurrent POST /orders/{id}/complete requests earn and redeem once', async () => {
    const order = await anOrderWith('80.00');
    const answers = await atOnce(25, () => complete(order, { redeem: '20.00' }));
    expect(answers.map(({ status }) => status)).toEqual(Array(25).fill(200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(await movementsOf(merchant, order.document)).toEqual(['grant 80.00', 'redeem -20.00', 'earn 6.50']);
  });

  it('only one of 25 concurrent POST /orders/{id}/complete requests with different values succeeds', async () => {
    const order = await anOrderWith('80.00');
    const answers = await atOnce(25, (index) => complete(order, { redeem: `${index + 1}.00` }));
    const [won, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 409, 'invalid_transition');
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(won?.body);
  });
});

describe('POST /orders/{id}/complete errors', () => {
  it('POST /orders/{id}/complete returns 422 and changes nothing when the redemption exceeds the maximum', async () => {
    const order = await anOrderWith('80.00');
    for (const _attempt of ['first', 'second']) {
      const answer = await complete(order, { redeem: '75.01' });
      expectProblem(answer, 422, 'redemption_exceeds_maximum');
      expect(answer.body).toMatchObject({ maximum: '75.00', limited_by: 'order_share' });
      expect(answer.body.errors).toEqual([{ pointer: '/redeem', detail: 'must be at most 75.00' }]);
    }
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(order);
    expect((await complete(order, { redeem: '75.00' })).status).toBe(200);
  });

  it('POST /orders/{id}/complete of a pending order returns 422 when the redemption exceeds the balance', async () => {
    const order = await anOrderWith('20.00');
    const answer = await complete(order, { redeem: '20.01' });
    expectProblem(answer, 422, 'redemption_exceeds_maximum');
    expect(answer.body).toMatchObject({ maximum: '20.00', limited_by: 'balance' });
    expect((await complete(order, { redeem: '20.00' })).status).toBe(200);
  });

  it('POST /orders/{id}/complete returns 422 when the payment methods exceed the total', async () => {
    const order = await aCreatedOrder(merchant, { total: '10.00' });
    const answer = await complete(order, { payment_methods: [{ id: 'pix', amount: '10.01' }] });
    expectProblem(answer, 422, 'payments_exceed_total');
    expect(pointersOf(answer)).toEqual(['/payment_methods']);
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(order);
  });

  it.each([
    ['the amount in redeem', { redeem: '20.00' }],
    ['the held amount', {}],
  ])(
    'POST /orders/{id}/complete returns 422 and changes nothing when payment methods and %s exceed the total by a centavo',
    async (_what, members) => {
      const order = await anOrderWith('80.00');
      await merchant.client.put(`/orders/${order.id}/redemption`, { amount: '20.00' });
      const pending = (await merchant.client.get(`/orders/${order.id}`)).body;
      const paying = (...amounts: string[]): object => ({
        ...members,
        payment_methods: amounts.map((amount) => ({ id: 'pix', amount })),
      });
      for (const _attempt of ['first', 'second']) {
        const answer = await complete(order, paying('100.00', '30.01'));
        expectProblem(answer, 422, 'payments_exceed_total');
        expect(answer.body).toMatchObject({
          ...{ total: '150.00', redeemed: '20.00', payments: '130.01' },
          errors: [{ pointer: '/payment_methods', detail: 'must add up to at most 130.00 if 20.00 is redeemed' }],
        });
      }
      expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(pending);
      const { status, body } = await complete(order, paying('100.00', '30.00'));
      expect({ status, body }).toMatchObject({ status: 200, body: { amount_to_pay: '130.00' } });
      expect(await complete(order, paying('100.00', '30.00'))).toMatchObject({ status: 200, body });
    },
  );

  it('POST /orders/{id}/complete does not compare the payment methods of the creation with what is redeemed', async () => {
    const order = await anOrderWith('80.00', { payment_methods: [{ id: 'pix', amount: '150.00' }] });
    const { status, body } = await complete(order, { redeem: '20.00' });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { amount_to_pay: '130.00', payment_methods: [{ id: 'pix', amount: '150.00' }] },
    });
  });

  it('POST /orders/{id}/complete names the redemption first when it is above the maximum and the payments are too high', async () => {
    const order = await anOrderWith('80.00');
    const request = { redeem: '75.01', payment_methods: [{ id: 'pix', amount: '150.00' }] };
    expectProblem(await complete(order, request), 422, 'redemption_exceeds_maximum');
  });

  it('POST /orders/{id}/complete returns 409 when the order is cancelled', async () => {
    const order = await aCreatedOrder(merchant);
    await merchant.client.post(`/orders/${order.id}/cancel`);
    for (const _attempt of ['first', 'second']) {
      const answer = await complete(order);
      expectProblem(answer, 409, 'invalid_transition');
      expect(answer.body).toMatchObject({ current_status: 'cancelled', allowed: [] });
    }
    expect(await walletOf(merchant, order.document)).toMatchObject({ pending: '0.00' });
  });

  it('POST /orders/{id}/complete returns 404 for an order of another merchant', async () => {
    const other = await aMerchant(service);
    const order = await aCreatedOrder(merchant);
    expectProblem(await other.client.post(`/orders/${order.id}/complete`), 404, 'not_found');
    const completed = await aCompletedOrder(merchant);
    expectProblem(await other.client.post(`/orders/${completed.id}/complete`), 404, 'not_found');
    expect((await merchant.client.get(`/orders/${order.id}`)).body.status).toBe('pending');
  });

  it('POST /orders/{id}/complete returns 400 with every validation error at once', async () => {
    const order = await aCreatedOrder(merchant);
    const answer = await complete(order, {
      redeem: 20,
      payment_methods: [null, { id: '', amount: '0.00' }, { id: 'pix', amount: '1.00' }],
    });
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual([
      '/payment_methods/0',
      '/payment_methods/1/amount',
      '/payment_methods/1/id',
      '/redeem',
    ]);
    expectProblem(await complete(order, []), 400, 'validation_failed');
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(order);
  });
});
