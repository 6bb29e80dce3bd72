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

/** The answer tells the caller to come again, and when. */
function expectComeAgain(answer: Answer): void {
  expectProblem(answer, 503, 'unavailable');
  expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

describe('slow clients', () => {
  const { service } = useService();

  it('that do not finish their headers, or send them byte by byte, are answered 408 and closed', async () => {
    const silent = new SlowClient(service.url, 'POST /orders HTTP/1.1\r\nhost: localhost\r\n');
    const dribbling = new SlowClient(service.url, 'POST /orders HTTP/1.1\r\nhost: localhost\r\nx-slow: ', 'a');
    for (const answer of [await silent.answer(), await dribbling.answer()])
      expectProblem(answer, 408, 'request_timeout');
  });

  it('that do not finish their body, or send it byte by byte, are answered 408 and closed, once', async () => {
    const head = aRequest('POST /auth/login', {
      'content-type': 'application/json',
      'content-length': '5000',
      connection: 'keep-alive',
    }).toString();
    const silent = new SlowClient(service.url, `${head}{`);
    const dribbling = new SlowClient(service.url, `${head}{"email":"`, 'a');
    for (const client of [silent, dribbling]) {
      expectProblem(await client.answer(), 408, 'request_timeout');
      expect(client.received.match(/HTTP\/1\.1/g)).toHaveLength(1);
    }
    const lines = service.logged.filter((line) => line.includes('"route":"/auth/login"'));
    expect(lines.filter((line) => line.includes('"status":5'))).toEqual([]);
  });

  it('keep nobody else waiting', async () => {
    const slow = Array.from(
      { length: 50 },
      () => new SlowClient(service.url, 'POST /orders HTTP/1.1\r\nhost: localhost\r\n'),
    );
    const answer = await sendBytes(service, aRequest('GET /health/ready'));
    expect(answer.status).toBe(200);
    for (const client of slow) client.close();
  });
});

describe('a pool whose connections are all stuck', () => {
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

  it('lets later requests wait for a turn, and answers 503 to those that get none; all is well after it', async () => {
    const order = await aCreatedOrder(merchant);
    const lock = await lockOrder(database.url, order.id);
    const stuck = atOnce(2, () => merchant.client.post(`/orders/${order.id}/complete`, {}));
    await lock.untilWaiting(2);
    const waited = await atOnce(10, () => merchant.client.post('/orders', anOrder()));
    await lock.release();

    // A request that is stuck gives its connection to others between its attempts.
    waited.filter(({ status }) => status !== 201).forEach(expectComeAgain);
    for (const { status, body } of await stuck)
      expect({ status, order: body.status }).toEqual({ status: 200, order: 'completed' });
    for (const { status } of await atOnce(10, () => merchant.client.post('/orders', anOrder())))
      expect(status).toBe(201);
  });

  it('never keeps a caller waiting without end, whatever is asked', async () => {
    const order = await aCreatedOrder(merchant);
    const lock = await lockOrder(database.url, order.id);
    const answers = await atOnce(12, (index) =>
      merchant.client.post(`/orders/${order.id}/${index % 2 === 0 ? 'complete' : 'cancel'}`, {}),
    );
    await lock.release();
    for (const answer of answers) expectComeAgain(answer);
  });
});

describe('a storm of log-ins', () => {
  it('is turned away where too many wait, with 503 and Retry-After, while orders go on', async () => {
    const service = await startService({ env: { BCRYPT_QUEUE: '1', BCRYPT_COST: '10' } });
    try {
      const merchant = await aMerchant(service);
      const storm = atOnce(40, () =>
        new Client(service).post('/auth/login', { email: 'nobody@shop.example', password: PASSWORD }),
      );
      const orders = await atOnce(5, () => merchant.client.post('/orders', anOrder()));
      const answers = await storm;

      expect(orders.map(({ status }) => status)).toEqual(Array(5).fill(201));
      const turnedAway = answers.filter(({ status }) => status === 503);
      turnedAway.forEach(expectComeAgain);
      const refused = answers.filter(({ status }) => status === 401);
      expect({ all: turnedAway.length + refused.length, some: turnedAway.length > 0 && refused.length > 0 }).toEqual({
        all: 40,
        some: true,
      });
      // The storm is over: nobody waits any more.
      const { email, password } = merchant;
      expect((await new Client(service).post('/auth/login', { email, password })).status).toBe(201);
    } finally {
      await service.stop();
    }
  });

  it('is none where one logs in at a time, even if nobody may wait', async () => {
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
