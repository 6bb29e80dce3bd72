import { afterEach, describe, expect, it } from '@jest/globals';
import { expectInvariants } from '../support/expectations.js';
import { anOrder } from '../support/factories.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

describe('the version of an order', () => {
  it('the version starts at 1 and grows by 1 with each change, and updated_at is the instant of the change', async () => {
    const order = await merchant.orderWith('80.00');
    expect(order).toMatchObject({ version: 1, updated_at: order.created_at });
    const seen = [order];
    for (const change of [
      () => merchant.hold(order, '20.00'),
      () => merchant.complete(order),
      () => merchant.refund(order, '10.00'),
      () => merchant.refund(order, '140.00'),
    ]) {
      await service.clock.advance({ seconds: 1 });
      await change();
      seen.push(await merchant.order(order));
    }
    expect(seen.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5]);
    const instants = seen.map(({ updated_at }) => updated_at);
    expect(instants).toEqual([...new Set(instants)].sort());
    expect(seen[2]!.updated_at).toBe(seen[2]!.completed_at);
  });

  it('a request that changes nothing keeps the version and updated_at', async () => {
    const order = anOrder();
    const created = await merchant.create(order);
    await service.clock.advance({ seconds: 1 });
    expect(await merchant.create(order)).toEqual(created);
    expect(await merchant.hold(created, '0.00')).toEqual(created);
    const cancelled = await merchant.cancel(created);
    await service.clock.advance({ seconds: 1 });
    expect(await merchant.cancel(created)).toEqual(cancelled);
    expect(cancelled).toMatchObject({ version: 2, updated_at: cancelled.cancelled_at });
  });
});

describe('the Location header', () => {
  it('POST /orders and POST /orders/{id}/refunds return the path of the resource in Location, also for a replay', async () => {
    const order = anOrder();
    const first = await merchant.create(order).answer;
    expect(first.headers.get('location')).toBe(`/orders/${first.body.id}`);
    expect((await merchant.create(order).answer).headers.get('location')).toBe(`/orders/${first.body.id}`);
    expect(await merchant.get(first.headers.get('location')!)).toEqual(first.body);

    await merchant.complete(first.body);
    const refund = await merchant.refund(first.body, '1.00', { external_id: 'DEV-1' }).answer;
    const path = `/orders/${first.body.id}/refunds/${refund.body.id}`;
    expect(refund.headers.get('location')).toBe(path);
    const again = await merchant.refund(first.body, '1.00', { external_id: 'DEV-1' }).answer;
    expect(again.headers.get('location')).toBe(path);
    expect(await merchant.get(path)).toEqual(refund.body);
  });
});
