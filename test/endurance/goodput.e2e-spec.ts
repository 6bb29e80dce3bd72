import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { load, orderRequest, successes } from '../support/load/load.js';
import { type Service, startService } from '../support/service.js';

/** Of each measurement. */
const SECONDS = Number(process.env.ENDURANCE_SECONDS ?? 60) / 4;
/** Loads at which throughput is highest. */
const PEAK_CONNECTIONS = [50, 100];
const OVERLOAD_CONNECTIONS = 3500;
const OVERLOAD = 10;
const SHARE_OF_PEAK = 0.8;

describe('the build, offered ten times the orders that it can create', () => {
  let database: TestDatabase;
  let service: Service;
  let built: BuiltService;
  let merchant: TestMerchant;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    service = await startService({ databaseUrl: database.url, env: { LOG_LEVEL: 'error' } });
    merchant = await aMerchant(service);
    built = await startBuiltService(database.url, { LOG_LEVEL: 'error', NODE_OPTIONS: '--max-old-space-size=256' });
    await measure(20);
  });
  afterAll(async () => {
    await built?.kill();
    await service?.stop();
    await database?.drop();
  });

  const rows = async (): Promise<number> => {
    const [{ created }] = await service.dataSource.query('SELECT COUNT(*) AS created FROM orders');
    return Number(created);
  };

  /** Creates orders for a while. @returns the goodput, and how many orders there are for each that was answered 201. */
  async function measure(connections: number, everyMs = 0): Promise<{ goodput: number; createdPerAnswer: number }> {
    const before = await rows();
    const requests = [orderRequest(merchant.tokens.access_token)];
    const outcomes = await load(built.url, SECONDS, [
      { name: 'orders', kind: 'requests', connections, everyMs, requests },
    ]);
    const orders = outcomes.orders!;
    const created = (await rows()) - before;
    process.stdout.write(`${connections} connections: ${JSON.stringify({ created, ...orders })}\n`);
    return { goodput: orders.goodput, createdPerAnswer: created / successes(orders) };
  }

  it('answers at least 0.8 of its peak with 201, and does not create many more orders than it says', async () => {
    const peaks: number[] = [];
    for (const connections of PEAK_CONNECTIONS) peaks.push((await measure(connections)).goodput);
    const peak = Math.max(...peaks);
    const overload = await measure(OVERLOAD_CONNECTIONS, (1000 * OVERLOAD_CONNECTIONS) / (OVERLOAD * peak));

    expect(overload.goodput).toBeGreaterThanOrEqual(SHARE_OF_PEAK * peak);
    // A caller that is refused sends its order again: an order that was created anyway is wasted work.
    expect(overload.createdPerAnswer).toBeLessThanOrEqual(1 / SHARE_OF_PEAK);
  }, 600_000);
});
