import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { expectInvariants } from '../support/expectations.js';
import { aCompletedOrder, aCreatedOrder, aDocument, anOrder, grant } from '../support/factories.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

describe('the version of an order', () => {
  it('the version starts at 1 and grows by 1 with each change, and updated_at is the instant of the change', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const order = await aCreatedOrder(merchant, { document });
    expect(order).toMatchObject({ version: 1, updated_at: order.created_at });
    const path = `/orders/${order.id}`;
    const seen = [order];
    for (const change of [
      () => merchant.client.put(`${path}/redemption`, { amount: '20.00' }),
      () => merchant.client.post(`${path}/complete`),
      () => merchant.client.post(`${path}/refunds`, { external_id: 'DEV-1', amount: '10.00' }),
      () => merchant.client.post(`${path}/refunds`, { external_id: 'DEV-2', amount: '140.00' }),
    ]) {
      await service.clock.advance({ seconds: 1 });
      expect((await change()).status).toBeLessThan(300);
      seen.push((await merchant.client.get(path)).body);
    }
    expect(seen.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5]);
    const instants = seen.map(({ updated_at }) => updated_at);
    expect(instants).toEqual([...new Set(instants)].sort());
    expect(seen[2].updated_at).toBe(seen[2].completed_at);
  });

  it('a request that changes nothing keeps the version and updated_at', async () => {
    const order = anOrder();
    const { body: created } = await merchant.client.post('/orders', order);
    const path = `/orders/${created.id}`;
    await service.clock.advance({ seconds: 1 });
    expect((await merchant.client.post('/orders', order)).body).toEqual(created);
    expect((await merchant.client.put(`${path}/redemption`, { amount: '0.00' })).body).toEqual(created);
    const { body: cancelled } = await merchant.client.post(`${path}/cancel`);
    await service.clock.advance({ seconds: 1 });
    expect((await merchant.client.post(`${path}/cancel`)).body).toEqual(cancelled);
    expect(cancelled).toMatchObject({ version: 2, updated_at: cancelled.cancelled_at });
  });

  it('a refused change keeps the version and updated_at', async () => {
    const order = await aCompletedOrder(merchant);
    const path = `/orders/${order.id}`;
    expect((await merchant.client.post(`${path}/cancel`)).status).toBe(409);
    expect((await merchant.client.post(`${path}/refunds`, { external_id: 'DEV-1', amount: '150.01' })).status).toBe(
      422,
    );
    expect((await merchant.client.get(path)).body).toEqual(order);
  });

  it('10 concurrent refunds of an order leave 10 versions more', async () => {
    const order = await aCompletedOrder(merchant);
    const answers = await atOnce(10, (at) =>
      merchant.client.post(`/orders/${order.id}/refunds`, { external_id: `DEV-${at}`, amount: '1.00' }),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    expect((await merchant.client.get(`/orders/${order.id}`)).body.version).toBe(order.version + 10);
  });
});

describe('the Location header', () => {
  it('POST /orders and POST /orders/{id}/refunds return the path of the resource in Location, also for a replay', async () => {
    const order = anOrder();
    const first = await merchant.client.post('/orders', order);
    expect(first.headers.get('location')).toBe(`/orders/${first.body.id}`);
    expect((await merchant.client.post('/orders', order)).headers.get('location')).toBe(`/orders/${first.body.id}`);
    expect((await merchant.client.get(first.headers.get('location') ?? '')).body).toEqual(first.body);

    await merchant.client.post(`/orders/${first.body.id}/complete`);
    const body = { external_id: 'DEV-1', amount: '1.00' };
    const refund = await merchant.client.post(`/orders/${first.body.id}/refunds`, body);
    const path = `/orders/${first.body.id}/refunds/${refund.body.id}`;
    expect(refund.headers.get('location')).toBe(path);
    expect((await merchant.client.post(`/orders/${first.body.id}/refunds`, body)).headers.get('location')).toBe(path);
    expect((await merchant.client.get(path)).body).toEqual(refund.body);
  });
});
