import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce, sameAtOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { startOfDayAfter } from '../support/wallets.js';

const { service, merchant } = useService({
  merchant: (service) => aMerchant(service, { earnRatesByPaymentMethod: { pix: 700 } }),
});
afterEach(() => expectInvariants(service));

describe('POST /orders/{id}/complete', () => {
  it('POST /orders/{id}/complete grants the cashback as pending until its release date', async () => {
    const order = await merchant.create();
    await service.clock.advance({ minutes: 5 });
    const body = await merchant.complete(order);
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
    expect(Date.parse(body.completed_at!) - Date.parse(body.created_at)).toBeGreaterThanOrEqual(5 * 60_000);
    expect(await merchant.wallet(order.document)).toMatchObject({
      available: '0.00',
      pending: '7.50',
      next_release: { amount: '7.50', at: body.cashback.to_receive.available_at },
      next_expiry: null,
    });
    expect(await merchant.order(order)).toEqual(body);
  });

  it('POST /orders/{id}/complete redeems the held cashback', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    const body = await merchant.complete(order);
    expect(body.cashback).toMatchObject({
      to_redeem: { available: '60.00', held: '0.00', redeemed: '20.00' },
      to_receive: { amount: '6.50' },
    });
    expect(await merchant.movements(order.document)).toEqual(['grant 80.00', 'redeem -20.00', 'earn 6.50']);
  });

  it('POST /orders/{id}/complete can hold and redeem cashback in one step', async () => {
    const order = await merchant.orderWith('80.00');
    const { status, body } = await merchant.complete(order, { redeem: '20.00' }).answer;
    expect({ status, redeemed: body.cashback.to_redeem.redeemed }).toEqual({ status: 200, redeemed: '20.00' });
    expect(await merchant.wallet(order.document)).toMatchObject({
      available: '60.00',
      held: '0.00',
      pending: '6.50',
    });
  });

  it('POST /orders/{id}/complete earns no cashback and creates no credit for an order paid entirely with cashback', async () => {
    const shop = await aMerchant(service, { redeemShareBps: 10_000 });
    const document = await shop.customerWith('150.00');
    const order = await shop.completed({ document }, { redeem: '150.00' });
    expect(order.cashback).toMatchObject({ to_redeem: { redeemed: '150.00' }, to_receive: { amount: '0.00' } });
    expect(await shop.movements(document)).toEqual(['grant 150.00', 'redeem -150.00']);
  });
});

describe('a repeated POST /orders/{id}/complete', () => {
  it('a repeated POST /orders/{id}/complete returns the same order, moves no cashback, and says that it is a repetition', async () => {
    const order = await merchant.orderWith('80.00');
    const request = { redeem: '20.00', payment_methods: [{ id: 'pix', amount: '130.00' }] };
    const body = await merchant.complete(order, request).changed();
    for (const again of [
      request,
      undefined,
      {},
      { redeem: '20' },
      { redeem: null, payment_methods: null },
      { payment_methods: [{ id: 'pix', amount: '130' }] },
    ]) {
      expect(await merchant.complete(order, again).replayed()).toEqual(body);
    }
    expect(await merchant.wallet(order.document)).toMatchObject({
      available: '60.00',
      pending: body.cashback.to_receive.amount,
    });
  });

  it('a repeated POST /orders/{id}/complete returns 409 with a pointer to each value that differs', async () => {
    const order = await merchant.orderWith('80.00');
    const body = await merchant.complete(order, { redeem: '20.00' });
    const problem = await merchant
      .complete(order, { redeem: '20.01', payment_methods: [{ id: 'pix', amount: '150.00' }] })
      .refused(409, 'invalid_transition', {
        current_status: 'completed',
        allowed: ['partially_refunded', 'refunded'],
        operations: ['refund'],
      });
    expect(pointersOf(problem)).toEqual(['/payment_methods/0/id', '/redeem']);
    // A completion request has no external_id.
    expect(JSON.stringify(problem.errors)).not.toContain('external_id');
    expect(await merchant.order(order)).toEqual(body);
  });

  it('25 concurrent POST /orders/{id}/complete requests earn and redeem once', async () => {
    const order = await merchant.orderWith('80.00');
    await sameAtOnce(25, () => merchant.complete(order, { redeem: '20.00' }));
    expect(await merchant.movements(order.document)).toEqual(['grant 80.00', 'redeem -20.00', 'earn 6.50']);
  });

  it('only one of 25 concurrent POST /orders/{id}/complete requests with different values succeeds', async () => {
    const order = await merchant.orderWith('80.00');
    const answers = await atOnce(25, (index) => merchant.complete(order, { redeem: `${index + 1}.00` }).answer);
    const [won, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 409, 'invalid_transition');
    expect(await merchant.order(order)).toEqual(won?.body);
  });
});

describe('POST /orders/{id}/complete errors', () => {
  it('POST /orders/{id}/complete returns 422 and changes nothing when the redemption exceeds the maximum', async () => {
    const order = await merchant.orderWith('80.00');
    for (const _attempt of ['first', 'second']) {
      const problem = await merchant
        .complete(order, { redeem: '75.01' })
        .refused(422, 'redemption_exceeds_maximum', { maximum: '75.00', limited_by: 'order_share' });
      expect(problem.errors).toEqual([{ pointer: '/redeem', detail: 'must be at most 75.00' }]);
    }
    expect(await merchant.order(order)).toEqual(order);
    await merchant.complete(order, { redeem: '75.00' });
  });

  it.each([
    ['the amount in redeem', { redeem: '20.00' }],
    ['the held amount', {}],
  ])(
    'POST /orders/{id}/complete returns 422 and changes nothing when payment methods and %s exceed the total by a centavo',
    async (_what, members) => {
      const order = await merchant.orderWith('80.00');
      await merchant.hold(order, '20.00');
      const pending = await merchant.order(order);
      const paying = (...amounts: string[]): object => ({
        ...members,
        payment_methods: amounts.map((amount) => ({ id: 'pix', amount })),
      });
      for (const _attempt of ['first', 'second']) {
        await merchant.complete(order, paying('100.00', '30.01')).refused(422, 'payments_exceed_total', {
          ...{ total: '150.00', redeemed: '20.00', payments: '130.01' },
          errors: [{ pointer: '/payment_methods', detail: 'must add up to at most 130.00 if 20.00 is redeemed' }],
        });
      }
      expect(await merchant.order(order)).toEqual(pending);
      const body = await merchant.complete(order, paying('100.00', '30.00'));
      expect(body).toMatchObject({ amount_to_pay: '130.00' });
      expect(await merchant.complete(order, paying('100.00', '30.00'))).toMatchObject(body);
    },
  );

  it('POST /orders/{id}/complete does not compare the payment methods of the creation with what is redeemed', async () => {
    const order = await merchant.orderWith('80.00', { payment_methods: [{ id: 'pix', amount: '150.00' }] });
    const body = await merchant.complete(order, { redeem: '20.00' });
    expect(body).toMatchObject({ amount_to_pay: '130.00', payment_methods: [{ id: 'pix', amount: '150.00' }] });
  });

  it('POST /orders/{id}/complete names the redemption first when it is above the maximum and the payments are too high', async () => {
    const order = await merchant.orderWith('80.00');
    const request = { redeem: '75.01', payment_methods: [{ id: 'pix', amount: '150.00' }] };
    await merchant.complete(order, request).refused(422, 'redemption_exceeds_maximum');
  });

  it('POST /orders/{id}/complete returns 404 for an order of another merchant', async () => {
    const other = await aMerchant(service);
    const order = await merchant.create();
    await other.complete(order).refused(404, 'not_found');
    const completed = await merchant.completed();
    await other.complete(completed).refused(404, 'not_found');
    expect((await merchant.order(order)).status).toBe('pending');
  });

  it('POST /orders/{id}/complete returns 400 with every validation error at once', async () => {
    const order = await merchant.create();
    await merchant
      .complete(order, {
        redeem: 20,
        payment_methods: [null, { id: '', amount: '0.00' }, { id: 'pix', amount: '1.00' }],
      })
      .refused(400, 'validation_failed', [
        '/payment_methods/0',
        '/payment_methods/1/amount',
        '/payment_methods/1/id',
        '/redeem',
      ]);
    await merchant.complete(order, []).refused(400, 'validation_failed');
    expect(await merchant.order(order)).toEqual(order);
  });
});
