import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { eventsOf, statusesOf } from '../support/rate-limits.js';
import { hasRedis, type RedisServer, startRedis } from '../support/redis.js';
import { type Service, startService } from '../support/service.js';

const RATE_LIMIT = 4;
/** What a merchant gets at once: the burst, and the seconds that the requests take. */
const [LEAST, MOST] = [10 * RATE_LIMIT, 15 * RATE_LIMIT];

function list(service: Service, { tokens }: TestMerchant): Promise<Answer> {
  return new Client(service, tokens.access_token).get('/orders');
}

/** @returns how many of many requests at once these services let through together; the rest are 429. */
async function passedBy(services: Service[], merchant: TestMerchant): Promise<number> {
  const answers = await Promise.all(services.map((service) => atOnce(80, () => list(service, merchant))));
  const { 200: passed = 0, 429: refused = 0 } = statusesOf(answers.flat());
  expect(passed + refused).toBe(80 * services.length);
  expect(refused).toBeGreaterThan(0);
  return passed;
}

/** Orders, log-ins and lists go on, each instance within the limits by its own count. */
async function expectEachCountsForItself(services: Service[]): Promise<void> {
  for (const service of services) {
    const merchant = await aMerchant(service);
    expect((await merchant.client.post('/orders', anOrder())).status).toBe(201);
    const passed = await passedBy([service], merchant);
    expect(passed).toBeGreaterThanOrEqual(LEAST);
    expect(passed).toBeLessThanOrEqual(MOST);
  }
}

async function failuresOf(service: Service): Promise<number> {
  const { body } = await new Client(service).get('/metrics');
  return Number(/^rate_limit_store_failures_total (\d+)$/m.exec(body as string)?.[1]);
}

describe('a Redis that nobody answers at', () => {
  it('keeps neither the service from starting nor orders from going on, within the limits', async () => {
    const service = await startService({ env: { REDIS_URL: 'redis://127.0.0.1:1', RATE_LIMIT: String(RATE_LIMIT) } });
    try {
      await expectEachCountsForItself([service]);
      expect(await service.dataSource.query('SELECT * FROM rate_limits')).toEqual([]);
    } finally {
      await service.stop();
    }
  });
});

if (hasRedis) {
  describe('a Redis that goes away and comes back', () => {
    let database: TestDatabase;
    let redis: RedisServer;
    let services: Service[];

    beforeAll(async () => {
      database = await createMigratedDatabase();
    });
    beforeEach(async () => {
      redis = await startRedis();
      const options = { databaseUrl: database.url, env: { REDIS_URL: redis.url, RATE_LIMIT: String(RATE_LIMIT) } };
      services = [await startService(options), await startService(options)];
    });
    afterEach(async () => {
      await Promise.all(services.map((service) => service.stop()));
      await redis.stop();
    });
    afterAll(() => database.drop());

    /** Both instances let no more through than one may, some time after Redis has come back. */
    async function expectCountedTogether(): Promise<void> {
      let passed = 0;
      for (let attempt = 0; attempt < 30; attempt++) {
        passed = await passedBy(services, await aMerchant(services[0] as Service));
        if (passed <= MOST) break;
        await sleep(200);
      }
      expect(passed).toBeGreaterThanOrEqual(LEAST);
      expect(passed).toBeLessThanOrEqual(MOST);
    }

    /** Nest's loggers of one process all write to the log of the service that started last. */
    const complaints = (): unknown[] => eventsOf(services.at(-1) as Service, 'rate_limit_store_unavailable');

    /** Once by each instance in the log, however many requests it concerned. */
    async function expectReported(): Promise<void> {
      expect(complaints()).toHaveLength(services.length);
      for (const service of services) expect(await failuresOf(service)).toBeGreaterThan(0);
    }

    it('is missed by nobody but the log and the metrics: each instance counts for itself until it is back', async () => {
      await expectCountedTogether();
      expect(complaints()).toEqual([]);
      await redis.stop();
      await expectEachCountsForItself(services);
      await expectReported();
      redis = await startRedis(redis.port);
      await expectCountedTogether();
    });

    it('may be there and not answer: orders go on all the same', async () => {
      await redis.pause();
      await expectEachCountsForItself(services);
      await expectReported();
      redis.resume();
      await expectCountedTogether();
    });
  });
}
