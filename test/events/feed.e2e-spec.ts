import { describe, expect, it } from '@jest/globals';
import { SweepsService } from '../../src/sweeps/sweeps.service.js';
import { aCompletedOrder, aCreatedOrder, aDocument, grant } from '../support/factories.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
const sequence = (): Promise<void> => service.app.get(SweepsService).doAll();

describe('GET /events', () => {
  it('lists a completion', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const order = await aCreatedOrder(merchant, { document });
    await merchant.client.put(`/orders/${order.id}/redemption`, { amount: '10.00' });
    await merchant.client.post(`/orders/${order.id}/complete`, {});
    await merchant.client.post(`/orders/${order.id}/refunds`, { external_id: 'R', amount: '150.00' });
    await sequence();
    const { status, body } = await merchant.client.get('/events');
    console.log(status, JSON.stringify(body, null, 1));
    expect((await merchant.client.get(`/events/${body.data[0].id}`)).body).toEqual(body.data[0]);
    expect(aCompletedOrder).toBeDefined();
  });
});
