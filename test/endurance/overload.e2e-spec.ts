import { describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder } from '../support/factories.js';
import { lockOrder } from '../support/locked-order.js';
import { useService } from '../support/use-service.js';

/** Expects a 503 that tells the caller when to retry. */
function expectRetryLater(answer: Answer<unknown>): void {
  expectProblem(answer, 503, 'unavailable');
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

describe('a pool whose only connection is blocked', () => {
  const { service, merchant } = useService({ env: { DATABASE_POOL_SIZE: '1' } });

  it('when the connection is blocked, requests wait or return 503, and all requests succeed afterwards', async () => {
    const order = await merchant.create();
    const complete = (): Promise<Answer> => merchant.client.once.post(`/orders/${order.id}/complete`, {});
    const lock = await lockOrder(service.databaseUrl, order.id);
    const stuck = complete();
    await lock.untilWaiting(1);
    const waited = await atOnce(10, () => merchant.client.once.post('/orders', anOrder()));
    await lock.release();

    // A blocked request releases its connection between its attempts, and gives up after the last one.
    waited.filter(({ status }) => status !== 201).forEach(expectRetryLater);
    [await stuck].filter(({ status }) => status !== 200).forEach(expectRetryLater);
    const { status, body } = await merchant.complete(order, {}).answer;
    expect({ status, order: body.status }).toEqual({ status: 200, order: 'completed' });
    for (const { status } of await atOnce(10, () => merchant.create().answer)) expect(status).toBe(201);
  });

  it('requests that wait for a lock return 503 instead of waiting forever', async () => {
    const order = await merchant.create();
    const lock = await lockOrder(service.databaseUrl, order.id);
    const answers = await atOnce(12, (index) =>
      merchant.client.once.post(`/orders/${order.id}/${index % 2 === 0 ? 'complete' : 'cancel'}`, {}),
    );
    await lock.release();
    for (const answer of answers) expectRetryLater(answer);
  });
});

describe('a pool of two connections', () => {
  const { service, merchant } = useService({ env: { DATABASE_POOL_SIZE: '2' } });

  it('requests that wait for locks leave a connection for orders', async () => {
    const other = await aMerchant(service);
    const blocked = [await merchant.create(), await other.create()];
    const locks = await Promise.all(blocked.map(({ id }) => lockOrder(service.databaseUrl, id)));
    const stuck = [merchant, other].map(({ client }, at) =>
      client.once.post(`/orders/${blocked[at]!.id}/complete`, {}),
    );
    await locks[0]?.untilWaiting(1);
    for (const { status } of await atOnce(10, () => merchant.client.once.post('/orders', anOrder())))
      expect(status).toBe(201);
    for (const lock of locks) await lock.release();
    for (const answer of await Promise.all(stuck)) if (answer.status !== 200) expectRetryLater(answer);
  });
});
