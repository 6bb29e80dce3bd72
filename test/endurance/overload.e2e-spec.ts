import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { lockOrder } from '../support/locked-order.js';
import { useService } from '../support/use-service.js';

/** Expects a 503 that tells the caller when to retry. */
function expectRetryLater(answer: Answer<unknown>): void {
  expectProblem(answer, 503, 'unavailable');
  expect(answer.headers.get('retry-after')).toBe('1');
}

/** The number of requests that a service with one database connection handles at the same time. */
const TURNS = 5;

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
    expect((await merchant.complete(order)).status).toBe('completed');
    await atOnce(10, () => merchant.create());
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

/** The service creates at most 20 orders per second and receives more requests. */
describe('requests that exceed the capacity', () => {
  const { service, merchant } = useService({ env: { DATABASE_POOL_SIZE: '1' } });
  let other: TestMerchant;

  beforeAll(async () => {
    other = await aMerchant(service);
    for (const { client } of [merchant, other]) await client.post('/orders', anOrder());
    await service.dataSource.query(
      'CREATE TRIGGER slow_orders BEFORE INSERT ON orders FOR EACH ROW SET @slept = SLEEP(0.05)',
    );
  });

  async function rowsOf(externalIds: string[]): Promise<number> {
    const rows = await service.dataSource.query<unknown[]>(
      `SELECT id FROM orders WHERE external_id IN (${externalIds.map(() => '?').join()})`,
      externalIds,
    );
    return rows.length;
  }

  it('requests that exceed the capacity return 503 with Retry-After before any work is done', async () => {
    const sent = Array.from({ length: 300 }, () => anOrder());
    const answers = await Promise.all(sent.map((order) => merchant.client.once.post('/orders', order)));
    const created = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(created.length).toBeGreaterThan(0);
    expect(refused.length).toBeGreaterThan(0);
    refused.forEach(expectRetryLater);
    const rows = await rowsOf(sent.map(({ external_id: id }) => id));
    expect(rows).toBeGreaterThanOrEqual(created.length);
    expect(rows).toBeLessThanOrEqual(created.length + TURNS);
  });

  it('queued requests of one merchant do not delay another merchant', async () => {
    let answered = 0;
    const many = atOnce(60, () => merchant.client.once.post('/orders', anOrder()).finally(() => (answered += 1)));
    await waiting(40);
    const before = answered;
    const answer: Answer = await other.client.once.post('/orders', anOrder());
    expect(answer.status).toBe(201);
    // Those that run share a statement, and those that run next share one with the other merchant's order.
    expect(answered - before).toBeLessThan(3 * TURNS);
    await many;
  });

  it('/health/live and /metrics respond while other requests are queued', async () => {
    const many = atOnce(60, () => merchant.client.once.post('/orders', anOrder()));
    await waiting(40);
    expect((await new Client(service).get('/health/live')).status).toBe(200);
    await many;
  });

  /** Waits until that number of requests is queued. */
  async function waiting(wanted: number): Promise<void> {
    for (let found = 0; found < wanted;) {
      const { body } = await new Client(service).get<string>('/metrics');
      found = Number(/^http_requests\{state="waiting"\} (\d+)$/m.exec(body)?.[1]);
    }
  }
});
