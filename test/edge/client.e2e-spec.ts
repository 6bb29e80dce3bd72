import { expect, it } from '@jest/globals';
import { startEdge } from '../../tools/clusters/haproxy.mjs';
import { atOnce } from '../support/client.js';
import { describeWithEdge, startStub, useEdge } from '../support/edge.js';
import { all, anOrderOf, clientOf, errorOf } from '../support/typescript-client.js';

describeWithEdge('the TypeScript client through the edge', () => {
  const { edge, merchant } = useEdge();

  it('ten sales at once go from login to refund', async () => {
    const cashback = clientOf(merchant, edge);
    const { document } = anOrderOf();
    await atOnce(10, async () => {
      const { id } = await cashback.orders.create(anOrderOf({ document }));
      await cashback.orders.complete(id, { redeem: '0.00' }, { ifMatch: 1 });
      await cashback.refunds.create(id, { external_id: 'r-1', amount: '10.00' });
    });
    const orders = await all(cashback.orders.search({ document, status: ['partially_refunded'], limit: 3 }));
    expect(orders).toHaveLength(10);
    await cashback.logout();
  });

  it('a problem of the edge has its code', async () => {
    const items = Array.from({ length: 500 }, (_, at) => ({
      id: `sku-${at}`,
      price: '0.30',
      description: 'x'.repeat(600),
    }));
    const error = await errorOf(clientOf(merchant, edge).orders.create(anOrderOf({ items })));
    expect(error).toMatchObject({ status: 413, code: 'payload_too_large', retryable: false });
    expect(error.requestId).toBeDefined();
  });

  it('a call is sent again after the 503 of an edge without an instance, and fails with it', async () => {
    const stub = await startStub((_request, response) => response.end());
    const empty = await startEdge([stub.url]);
    await stub.stop();
    try {
      const retries: string[] = [];
      const client = clientOf(merchant, empty, {
        onRetry: ({ error, delay }) =>
          retries.push(`${error.status} ${error.code}, after the second: ${delay >= 1000}`),
      });
      expect(await errorOf(client.policy.get())).toMatchObject({ code: 'unavailable', retryable: true });
      expect(retries).toEqual(Array(3).fill('503 unavailable, after the second: true'));
    } finally {
      await empty.stop();
    }
  });
});
