import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { eventsOf, statusesOf } from '../support/rate-limits.js';
import { hasRedis, type RedisServer, startRedis } from '../support/redis.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';

const RATE_LIMIT = 2;
/** The burst: the number of concurrent requests that always pass. */
const LEAST = 10 * RATE_LIMIT;

function readPolicy(service: Service, { tokens }: TestMerchant): Promise<Answer> {
  return new Client(service, tokens.access_token).get('/policy');
}

/**
 * Sends many requests to the services at once.
 * @returns the number that pass, and its upper bound: the burst plus the quota of each second that the requests took.
 */
async function passedBy(services: Service[], merchant: TestMerchant): Promise<{ passed: number; most: number }> {
  const startedAt = performance.now();
  const answers = await Promise.all(services.map((service) => atOnce(50, () => readPolicy(service, merchant))));
  const seconds = Math.ceil((performance.now() - startedAt) / 1000) + 1;
  const statuses = statusesOf(answers.flat());
  const { 200: passed = 0, 429: refused = 0 } = statuses;
  expect(statuses).toEqual({ 200: passed, 429: refused });
  expect(refused).toBeGreaterThan(0);
  return { passed, most: LEAST + seconds * RATE_LIMIT };
}

/** Requests succeed, and each instance limits them by its own count. */
async function expectEachCountsForItself(services: Service[]): Promise<void> {
  for (const service of services) {
    const merchant = await aMerchant(service);
    await merchant.create();
    const { passed, most } = await passedBy([service], merchant);
    expect(passed).toBeGreaterThanOrEqual(LEAST);
    expect(passed).toBeLessThanOrEqual(most);
  }
}

async function failuresOf(service: Service): Promise<number> {
  const { body } = await new Client(service).get<string>('/metrics');
  return Number(/^rate_limit_store_failures_total (\d+)$/m.exec(body)?.[1]);
}

describe('a Redis that is unreachable at startup', () => {
  it('the service starts and applies the rate limits when Redis is unreachable', async () => {
    const service = await startService({ env: { REDIS_URL: 'redis://127.0.0.1:1', RATE_LIMIT: String(RATE_LIMIT) } });
    try {
      await expectEachCountsForItself([service]);
    } finally {
      await service.stop();
    }
  });
});

describeIf(hasRedis, 'Redis, because redis-server is missing')('a Redis that becomes unreachable and recovers', () => {
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

  /** Both instances count together again some time after Redis recovers. */
  async function expectCountedTogether(): Promise<void> {
    let result = { passed: 0, most: 0 };
    for (let attempt = 0; attempt < 30; attempt++) {
      result = await passedBy(services, await aMerchant(services[0] as Service));
      if (result.passed <= result.most) break;
      await sleep(200);
    }
    expect(result.passed).toBeGreaterThanOrEqual(LEAST);
    expect(result.passed).toBeLessThanOrEqual(result.most);
  }

  /** All Nest loggers of a process write to the log of the service that started last. */
  const complaints = (): unknown[] => eventsOf(services.at(-1) as Service, 'rate_limit_store_unavailable');

  /** Each instance logs the failure once, regardless of the number of requests. */
  async function expectReported(): Promise<void> {
    // The client reports the failure when it tries to reconnect, which can be after the responses.
    for (let attempt = 0; attempt < 600 && complaints().length < services.length; attempt++) await sleep(100);
    expect(complaints()).toHaveLength(services.length);
    for (const service of services) expect(await failuresOf(service)).toBeGreaterThan(0);
  }

  it('a Redis outage is logged and counted in the metrics, and each instance counts requests itself until Redis recovers', async () => {
    await expectCountedTogether();
    expect(complaints()).toEqual([]);
    await redis.stop();
    await expectEachCountsForItself(services);
    await expectReported();
    redis = await startRedis(redis.port);
    await expectCountedTogether();
  });

  it('a Redis that accepts connections but does not respond is treated as unreachable', async () => {
    await redis.pause();
    await expectEachCountsForItself(services);
    await expectReported();
    redis.resume();
    await expectCountedTogether();
  });
});
