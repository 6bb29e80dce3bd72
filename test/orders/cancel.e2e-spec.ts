import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aCompletedOrder, aCreatedOrder, aDocument, aMerchant, grant } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { movementsOf, walletOf } from '../support/wallets.js';

describe('POST /orders/{id}/cancel', () => {
  const { service, merchant } = useService();
  afterEach(() => expectInvariants(service));

  const cancel = (order: { id: string }): Promise<Answer> => merchant.client.post(`/orders/${order.id}/cancel`);

  async function anOrderThatHolds(amount: string): Promise<{ id: string; document: string }> {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const order = await aCreatedOrder(merchant, { document });
    return (await merchant.client.put(`/orders/${order.id}/redemption`, { amount })).body;
  }

  it('POST /orders/{id}/cancel releases the hold and grants no cashback', async () => {
    const order = await anOrderThatHolds('20.00');
    const { status, body } = await cancel(order);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: order.id,
      status: 'cancelled',
      completed_at: null,
      cancelled_at: expect.any(String),
      cashback: {
        to_redeem: { available: '80.00', maximum: '0.00', limited_by: null, held: '0.00', redeemed: '0.00' },
        to_receive: { amount: '0.00', taken_back: '0.00', status: 'none', available_at: null, expires_at: null },
      },
    });
    expect(await walletOf(merchant, order.document)).toMatchObject({
      available: '80.00',
      held: '0.00',
      pending: '0.00',
    });
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(body);
  });

  it('a repeated POST /orders/{id}/cancel returns the same order and moves no cashback', async () => {
    const order = await anOrderThatHolds('20.00');
    const { body } = await cancel(order);
    await service.clock.advance({ minutes: 5 });
    expect(await cancel(order)).toMatchObject({ status: 200, body });
    expect(await movementsOf(merchant, order.document)).toEqual(['grant 80.00']);
  });

  it('POST /orders/{id}/cancel succeeds for an expired order', async () => {
    const order = await anOrderThatHolds('20.00');
    await service.clock.advance({ minutes: 30 });
    expect((await merchant.client.get(`/orders/${order.id}`)).body.status).toBe('expired');
    for (const _attempt of ['first', 'second'])
      expect(await cancel(order)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    expect(await walletOf(merchant, order.document)).toMatchObject({ available: '80.00', held: '0.00' });
  });

  it('POST /orders/{id}/cancel releases only the hold of that order', async () => {
    const order = await anOrderThatHolds('20.00');
    const sibling = await aCreatedOrder(merchant, { document: order.document });
    await merchant.client.put(`/orders/${sibling.id}/redemption`, { amount: '30.00' });
    await cancel(order);
    expect(await walletOf(merchant, order.document)).toMatchObject({ available: '50.00', held: '30.00' });
  });

  it.each([
    ['completed', undefined, ['partially_refunded', 'refunded']],
    ['partially_refunded', '1.00', ['partially_refunded', 'refunded']],
    ['refunded', '150.00', []],
  ])('POST /orders/{id}/cancel returns 409 when the order is %s', async (status, refund, allowed) => {
    const order = await aCompletedOrder(merchant);
    if (refund) await merchant.client.post(`/orders/${order.id}/refunds`, { external_id: 'DEV-1', amount: refund });
    for (const _attempt of ['first', 'second']) {
      const answer = await cancel(order);
      expectProblem(answer, 409, 'invalid_transition');
      expect(answer.body).toMatchObject({ current_status: status, allowed });
    }
  });

  it('POST /orders/{id}/cancel returns 404 for an order of another merchant', async () => {
    const order = await anOrderThatHolds('20.00');
    const other = await aMerchant(service);
    expectProblem(await other.client.post(`/orders/${order.id}/cancel`), 404, 'not_found');
    expect((await merchant.client.get(`/orders/${order.id}`)).body).toEqual(order);
  });

  it('25 concurrent POST /orders/{id}/cancel requests release the hold once', async () => {
    const order = await anOrderThatHolds('20.00');
    const answers = await atOnce(25, () => cancel(order));
    expect(answers.map(({ status }) => status)).toEqual(Array(25).fill(200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(await walletOf(merchant, order.document)).toMatchObject({ available: '80.00', held: '0.00' });
    expect(await movementsOf(merchant, order.document)).toEqual(['grant 80.00']);
  });
});
