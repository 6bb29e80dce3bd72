import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';

/** The number of requests that a service with one database connection handles at the same time. */
const TURNS = 5;

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
    for (const answer of refused) {
      expectProblem(answer, 503, 'unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
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
  async function waiting(wanted: number, isEnough = (found: number, least: number) => found >= least): Promise<void> {
    for (;;) {
      const { body } = await new Client(service).get<string>('/metrics');
      const found = /^http_requests\{state="waiting"\} (\d+)$/m.exec(body);
      if (isEnough(Number(found?.[1]), wanted)) return;
    }
  }
});
