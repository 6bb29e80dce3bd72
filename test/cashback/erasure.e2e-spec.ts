import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ErasureService } from '../../src/orders/erasure.service.js';
import { UnitOfWork } from '../../src/database/unit-of-work.js';
import { expectInvariants } from '../support/expectations.js';
import { aCompletedOrder, aDocument, aMerchant, grant, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';

describe('erasing a customer', () => {
  let service: Service;
  let erasure: ErasureService;
  let merchant: TestMerchant;
  let other: TestMerchant;

  beforeAll(async () => {
    service = await startService();
    erasure = new ErasureService(service.app.get(UnitOfWork), service.clock);
    merchant = await aMerchant(service);
    other = await aMerchant(service);
  });
  afterAll(() => service.stop());

  /** Every column of every table that holds that text. */
  async function placesOf(text: string): Promise<string[]> {
    const columns = await service.dataSource.query<{ t: string; c: string }[]>(
      'SELECT table_name AS t, column_name AS c FROM information_schema.columns WHERE table_schema = DATABASE()',
    );
    const places = [];
    for (const { t, c } of columns) {
      const [row] = await service.dataSource.query(
        `SELECT COUNT(*) AS n FROM \`${t}\` WHERE CAST(\`${c}\` AS CHAR) LIKE ?`,
        [`%${text}%`],
      );
      if (Number(row.n) > 0) places.push(`${t}.${c}`);
    }
    return places;
  }

  it('leaves the document nowhere, and every sum as it was', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const order = await aCompletedOrder(merchant, { document }, { redeem: '20.00' });
    expect(await placesOf(document)).toEqual(expect.arrayContaining(['orders.document', 'wallets.document']));
    expect(await erasure.erase(merchant.id, document)).toMatchObject({ orders: 1, wallets: 1 });
    expect(await placesOf(document)).toEqual([]);
    await expectInvariants(service);

    // A refund of the old order still finds its wallet.
    const refund = await merchant.client.post(`/orders/${order.id}/refunds`, { external_id: 'late', amount: '150.00' });
    expect(refund).toMatchObject({ status: 201, body: { cashback_returned: '20.00', cashback_taken_back: '6.50' } });
    await expectInvariants(service);
  });

  it('makes the customer one never seen, for this merchant alone', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    await grant(service, other, document, '30.00');
    await erasure.erase(merchant.id, document);
    expect((await merchant.client.post('/wallets/search', { document })).body).toMatchObject({
      id: null,
      available: '0.00',
    });
    expect((await other.client.post('/wallets/search', { document })).body).toMatchObject({ available: '30.00' });
  });

  it('does nothing the second time', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    await erasure.erase(merchant.id, document);
    expect(await erasure.erase(merchant.id, document)).toMatchObject({ orders: 0, wallets: 0 });
  });
});
