import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aDocument, aMerchant, anOrder, grant, type TestMerchant } from './support/factories.js';
import { type Service, startService } from './support/service.js';

describe('creating an order', () => {
  let service: Service;
  let merchant: TestMerchant;

  beforeAll(async () => {
    service = await startService();
    merchant = await aMerchant(service);
  });
  afterAll(() => service.stop());

  it('answers with the cashback that can be redeemed and will be received', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const { status, body } = await merchant.client.post('/orders', anOrder({ document }));
    expect(status).toBe(201);
    expect(body).toMatchObject({
      status: 'pending',
      cashback: {
        to_redeem: { available: '80.00', maximum: '75.00', limited_by: 'order_share', held: '0.00', redeemed: '0.00' },
        to_receive: { amount: '7.50', status: 'quoted' },
      },
    });
  });
});
