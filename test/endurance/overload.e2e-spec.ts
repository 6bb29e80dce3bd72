import { describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aCreatedOrder, aMerchant, anOrder } from '../support/factories.js';
import { lockOrder } from '../support/locked-order.js';
import { useService } from '../support/use-service.js';

/** Expects a 503 that tells the caller when to retry. */
function expectRetryLater(answer: Answer): void {
  expectProblem(answer, 503, 'unavailable');
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

describe('a pool whose connections are all blocked', () => {
  const { service, merchant } = useService({ env: { DATABASE_POOL_SIZE: '2' } });

  it('when all connections are blocked, requests wait or return 503, and all requests succeed afterwards', async () => {
    const merchants = [merchant, await aMerchant(service)];
    const orders = await Promise.all(merchants.map((owner) => aCreatedOrder(owner)));
    const complete = (): Promise<Answer[]> =>
      Promise.all(merchants.map(({ client }, at) => client.post(`/orders/${orders[at].id}/complete`, {})));
    const locks = await Promise.all(orders.map(({ id }) => lockOrder(service.databaseUrl, id)));
    const stuck = complete();
    await locks[0]?.untilWaiting(2);
    const waited = await atOnce(10, () => merchant.client.post('/orders', anOrder()));
    for (const lock of locks) await lock.release();

    // A blocked request releases its connection between its attempts, and gives up after the last one.
    waited.filter(({ status }) => status !== 201).forEach(expectRetryLater);
    (await stuck).filter(({ status }) => status !== 200).forEach(expectRetryLater);
    for (const { status, body } of await complete())
      expect({ status, order: body.status }).toEqual({ status: 200, order: 'completed' });
    for (const { status } of await atOnce(10, () => merchant.client.post('/orders', anOrder())))
      expect(status).toBe(201);
  });

  it('requests that wait for a lock return 503 instead of waiting forever', async () => {
    const order = await aCreatedOrder(merchant);
    const lock = await lockOrder(service.databaseUrl, order.id);
    const answers = await atOnce(12, (index) =>
      merchant.client.post(`/orders/${order.id}/${index % 2 === 0 ? 'complete' : 'cancel'}`, {}),
    );
    await lock.release();
    for (const answer of answers) expectRetryLater(answer);
  });
});
