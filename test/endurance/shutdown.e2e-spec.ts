import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { lockOrder } from '../support/locked-order.js';
import { OrderStream } from '../support/load/order-stream.js';
import { type Service, startService } from '../support/service.js';

/** Requests sent at least this long before the drain ends are accepted by then, even on a slow machine. */
const CERTAIN_MS = 1000;
const CONNECTIONS = 20;
const DELAY_SECONDS = 3;

describe('SIGTERM', () => {
  let database: TestDatabase;
  /** An instance inside the test process, used to read data. */
  let observer: Service;
  let merchant: TestMerchant;
  let service: BuiltService;
  let client: Client;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    observer = await startService({ databaseUrl: database.url, env: { LOG_LEVEL: 'silent' } });
    merchant = await aMerchant(observer);
  });
  afterEach(() => service?.kill());
  afterAll(async () => {
    await observer?.stop();
    await database?.drop();
  });

  async function start(delaySeconds: number): Promise<void> {
    service = await startBuiltService(database.url, {
      SHUTDOWN_DELAY_SECONDS: String(delaySeconds),
      LOG_LEVEL: 'error',
    });
    client = new Client(service, merchant.tokens.access_token).once;
  }

  function isListening(): Promise<boolean> {
    const { hostname, port } = new URL(service.url);
    return new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => resolve(true));
      socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
    });
  }

  /** Sends SIGTERM and waits until the service reports that it is not ready. */
  async function terminate(): Promise<Answer> {
    service.process.kill('SIGTERM');
    for (const deadline = Date.now() + CERTAIN_MS; ; await sleep(10)) {
      const answer = await client.get('/health/ready');
      if (answer.status === 503 || Date.now() > deadline) return answer;
    }
  }

  it('on SIGTERM, the service becomes not ready at once but still accepts orders and closes connections after each response', async () => {
    await start(DELAY_SECONDS);
    expect((await client.get('/health/ready')).headers.get('connection')).toBe('keep-alive');
    const exit = exitCode(service);
    const notReady = await terminate();
    const alive = await client.get('/health/live');
    const order = await client.post('/orders', anOrder());

    expect([notReady, alive, order].map(({ status }) => status)).toEqual([503, 200, 201]);
    expect([notReady, alive, order].map(({ headers }) => headers.get('connection'))).toEqual([
      'close',
      'close',
      'close',
    ]);
    expect(notReady.body).toMatchObject({ code: 'unavailable', retryable: true });
    expect(await exit).toBe(0);
    expect(await isListening()).toBe(false);
  });

  it('on SIGTERM, a request in progress finishes after the service stops accepting connections', async () => {
    await start(1);
    const order = await merchant.with(client).create();
    const lock = await lockOrder(database.url, order.id);
    const completing = client.post(`/orders/${order.id}/complete`, {});
    await lock.untilWaiting();
    const exit = exitCode(service);
    await terminate();
    while (await isListening()) await sleep(20);
    await lock.release();

    const completed = await completing;
    expect({ status: completed.status, order: completed.body.status }).toEqual({ status: 200, order: 'completed' });
    expect(completed.headers.get('connection')).toBe('close');
    expect(await exit).toBe(0);
  });

  it('on SIGTERM, the service disconnects a client that does not finish its request and exits', async () => {
    await start(0);
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname, () =>
      socket.write('POST /orders HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{'),
    );
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    // The partial request has arrived, because the service has answered a later one.
    await client.get('/health/live');
    expect(await service.stop()).toBe(0);
  });

  it(`on SIGTERM under a load of ${CONNECTIONS} kept-alive and new connections, every accepted request is answered and stored once`, async () => {
    await start(DELAY_SECONDS);
    const stream = new OrderStream(service.url, merchant.tokens.access_token);
    const working = stream.work(CONNECTIONS);
    await sleep(1500);
    const exit = exitCode(service);
    const signalledAt = Date.now();
    service.process.kill('SIGTERM');
    // Each worker continues until the service no longer listens.
    await working;
    expect(await exit).toBe(0);

    const certainUntil = signalledAt + DELAY_SECONDS * 1000 - CERTAIN_MS;
    expect(stream.sent.filter(({ sentAt, status }) => sentAt < certainUntil && status === undefined)).toEqual([]);
    expect(stream.sent.filter(({ sentAt, status }) => sentAt > signalledAt && status === 201).length).toBeGreaterThan(
      0,
    );
    expect(stream.sent.filter(({ status }) => ![201, 503, undefined].includes(status))).toEqual([]);
    const rows = await observer.dataSource.query<{ id: string; external_id: Buffer }[]>(
      'SELECT id, external_id FROM orders',
    );
    const idOf = new Map(rows.map((row) => [row.external_id.toString(), row.id]));
    expect(
      stream.sent.filter(({ status, externalId, orderId }) => status === 201 && idOf.get(externalId) !== orderId),
    ).toEqual([]);
    // Accepted requests were answered: no order exists for a caller that was disconnected.
    expect(stream.sent.filter(({ status, externalId }) => status === undefined && idOf.has(externalId))).toEqual([]);
  });
});

function exitCode({ process: child }: BuiltService): Promise<number | null> {
  return new Promise((resolve) => child.once('exit', resolve));
}
