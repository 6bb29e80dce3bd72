import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';
import { aCreatedOrder, aMerchant, anOrder, PASSWORD, type TestMerchant } from '../support/factories.js';
import { lockOrder } from '../support/locked-order.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { type Service, startService } from '../support/service.js';
import { SlowClient } from '../support/slow-client.js';
import { useService } from '../support/use-service.js';

/** Expects a 503 that tells the caller when to retry. */
function expectRetryLater(answer: Answer): void {
  expectProblem(answer, 503, 'unavailable');
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

describe('slow clients', () => {
  const { service } = useService();

  it('a client that does not finish its headers gets 408 and is disconnected, even if it sends single bytes', async () => {
    const silent = new SlowClient(service.url, 'POST /orders HTTP/1.1\r\nhost: localhost\r\n');
    const trickling = new SlowClient(service.url, 'POST /orders HTTP/1.1\r\nhost: localhost\r\nx-slow: ', 'a');
    for (const answer of [await silent.answer(), await trickling.answer()])
      expectProblem(answer, 408, 'request_timeout');
  });

  it('a client that does not finish its body gets one 408 and is disconnected, even if it sends single bytes', async () => {
    const head = aRequest('POST /auth/login', {
      'content-type': 'application/json',
      'content-length': '5000',
      connection: 'keep-alive',
    }).toString();
    const silent = new SlowClient(service.url, `${head}{`);
    const trickling = new SlowClient(service.url, `${head}{"email":"`, 'a');
    for (const client of [silent, trickling]) {
      expectProblem(await client.answer(), 408, 'request_timeout');
      expect(client.received.match(/HTTP\/1\.1/g)).toHaveLength(1);
    }
    const lines = service.logged.filter((line) => line.includes('"route":"/auth/login"'));
    expect(lines.filter((line) => line.includes('"status":5'))).toEqual([]);
  });

  it('slow clients do not delay other clients', async () => {
    const slow = Array.from(
      { length: 50 },
      () => new SlowClient(service.url, 'POST /orders HTTP/1.1\r\nhost: localhost\r\n'),
    );
    const answer = await sendBytes(service, aRequest('GET /health/ready'));
    expect(answer.status).toBe(200);
    for (const client of slow) client.close();
  });
});

describe('a pool whose connections are all blocked', () => {
  let database: TestDatabase;
  let service: Service;
  let merchant: TestMerchant;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    service = await startService({ databaseUrl: database.url, env: { DATABASE_POOL_SIZE: '2' } });
    merchant = await aMerchant(service);
  });
  afterAll(async () => {
    await service?.stop();
    await database?.drop();
  });

  it('when all connections are blocked, requests wait or return 503, and all requests succeed afterwards', async () => {
    // One merchant's changes block only half of the connections.
    const merchants = [merchant, await aMerchant(service)];
    const orders = await Promise.all(merchants.map((owner) => aCreatedOrder(owner)));
    const complete = (): Promise<Answer[]> =>
      Promise.all(merchants.map(({ client }, at) => client.post(`/orders/${orders[at].id}/complete`, {})));
    const locks = await Promise.all(orders.map(({ id }) => lockOrder(database.url, id)));
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
    const lock = await lockOrder(database.url, order.id);
    const answers = await atOnce(12, (index) =>
      merchant.client.post(`/orders/${order.id}/${index % 2 === 0 ? 'complete' : 'cancel'}`, {}),
    );
    await lock.release();
    for (const answer of answers) expectRetryLater(answer);
  });
});

describe('a burst of logins', () => {
  it('a burst of logins above the queue limit returns 503 with Retry-After while orders succeed', async () => {
    const service = await startService({ env: { BCRYPT_QUEUE: '1', BCRYPT_COST: '10' } });
    try {
      const merchant = await aMerchant(service);
      const storm = atOnce(40, () =>
        new Client(service).post('/auth/login', { email: 'nobody@shop.example', password: PASSWORD }),
      );
      const orders = await atOnce(5, () => merchant.client.post('/orders', anOrder()));
      const answers = await storm;

      expect(orders.map(({ status }) => status)).toEqual(Array(5).fill(201));
      const limited = answers.filter(({ status }) => status === 503);
      limited.forEach(expectRetryLater);
      const refused = answers.filter(({ status }) => status === 401);
      expect({ all: limited.length + refused.length, some: limited.length > 0 && refused.length > 0 }).toEqual({
        all: 40,
        some: true,
      });
      // The burst is over and the queue is empty.
      const { email, password } = merchant;
      expect((await new Client(service).post('/auth/login', { email, password })).status).toBe(201);
    } finally {
      await service.stop();
    }
  });

  it('logins one at a time succeed even when BCRYPT_QUEUE is 0', async () => {
    const service = await startService({ env: { BCRYPT_QUEUE: '0' } });
    try {
      const { email, password } = await aMerchant(service);
      await sleep(10);
      expect((await new Client(service).post('/auth/login', { email, password })).status).toBe(201);
    } finally {
      await service.stop();
    }
  });
});
