import { afterEach, describe, expect, it } from '@jest/globals';
import { expectInvariants } from '../support/expectations.js';
import { aMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { sameAtOnce } from '../support/client.js';

describe('POST /orders/{id}/cancel', () => {
  const { service, merchant } = useService();
  afterEach(() => expectInvariants(service));

  it('POST /orders/{id}/cancel releases the hold and grants no cashback', async () => {
    const order = await merchant.orderThatHolds('20.00');
    const body = await merchant.cancel(order);
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
    expect(await merchant.wallet(order.document)).toMatchObject({
      available: '80.00',
      held: '0.00',
      pending: '0.00',
    });
    expect(await merchant.order(order)).toEqual(body);
  });

  it('a repeated POST /orders/{id}/cancel returns the same order, moves no cashback, and says that it is a repetition', async () => {
    const order = await merchant.orderThatHolds('20.00');
    const body = await merchant.cancel(order).changed();
    await service.clock.advance({ minutes: 5 });
    expect(await merchant.cancel(order).replayed()).toEqual(body);
    expect(await merchant.cancel(order, { body: { reason: 'Out of stock' } }).replayed()).toEqual(body);
    expect(await merchant.movements(order.document)).toEqual(['grant 80.00']);
  });

  it('POST /orders/{id}/cancel succeeds for an expired order', async () => {
    const order = await merchant.orderThatHolds('20.00');
    await service.clock.advance({ minutes: 30 });
    expect((await merchant.order(order)).status).toBe('expired');
    const body = await merchant.cancel(order).changed();
    expect(body).toMatchObject({ status: 'cancelled' });
    expect(await merchant.cancel(order).replayed()).toEqual(body);
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '80.00', held: '0.00' });
  });

  it('POST /orders/{id}/cancel returns 404 for an order of another merchant', async () => {
    const order = await merchant.orderThatHolds('20.00');
    const other = await aMerchant(service);
    await other.cancel(order).refused(404, 'not_found');
    expect(await merchant.order(order)).toEqual(order);
  });

  it('25 concurrent POST /orders/{id}/cancel requests release the hold once', async () => {
    const order = await merchant.orderThatHolds('20.00');
    await sameAtOnce(25, () => merchant.cancel(order));
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '80.00', held: '0.00' });
    expect(await merchant.movements(order.document)).toEqual(['grant 80.00']);
  });
});
