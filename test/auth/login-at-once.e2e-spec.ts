import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { atOnce, Client } from '../support/client.js';
import { Comparisons } from '../support/comparisons.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';

const WORKERS = 20;

describe('logins at once', () => {
  let comparisons: Comparisons;
  let service: Service;
  let merchant: TestMerchant;

  beforeAll(async () => {
    comparisons = new Comparisons();
    service = await startService({ env: { BCRYPT_CONCURRENCY: '1', TRUST_PROXY: '1', DATABASE_POOL_SIZE: '10' } });
    merchant = await aMerchant(service);
  });
  afterAll(async () => {
    comparisons.stop();
    await service?.stop();
  });
  beforeEach(() => comparisons.hold());
  afterEach(() => comparisons.release());

  const logIn = ({ email, password = PASSWORD }: { email: string; password?: string }, network = '192.0.2.1') =>
    new Client(service).send('POST', '/auth/login', {
      body: { email, password },
      headers: { 'x-forwarded-for': network },
    });

  async function until(isReached: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isReached())) await sleep(10);
  }

  /** Waits until a metric has at least a value. On a slow machine, repeated requests are counted again. */
  async function untilAtLeast(value: number, metric: string): Promise<void> {
    await until(async () => {
      const { body } = await new Client(service).get<string>('/metrics');
      const line = body.split('\n').find((one) => one.startsWith(metric));
      return Number(line?.split(' ')[1]) >= value;
    });
  }
  const untilRunning = (requests: number): Promise<void> => untilAtLeast(requests, 'http_requests{state="running"}');
  const untilWaiting = (logins: number): Promise<void> => untilAtLeast(logins, 'bcrypt_comparisons{state="waiting"}');

  it('twenty workers of one user that log in at once share a comparison, and all get a session that no other one ends', async () => {
    const logins = atOnce(WORKERS, () => logIn(merchant));
    await untilRunning(WORKERS);
    comparisons.release();
    const answers = await logins;
    expect(answers.map(({ status }) => status)).toEqual(Array(WORKERS).fill(201));
    const tokens = answers.flatMap(({ body }) => [body.access_token, body.refresh_token] as string[]);
    expect(new Set(tokens).size).toBe(2 * WORKERS);
    // A login that still read its user when the first comparison was released starts another one.
    expect(comparisons.costs.length).toBeLessThan(WORKERS);
    const [first, ...others] = answers.map(({ body }) => new Client(service, body.access_token as string));
    expect((await first!.post('/auth/logout')).status).toBe(204);
    expect((await first!.get('/policy')).status).toBe(401);
    for (const other of others) expect((await other.get('/policy')).status).toBe(200);
  });

  it('a wrong and a right password of one user do not share a comparison', async () => {
    const right = logIn(merchant);
    await until(() => comparisons.costs.length === 1);
    const wrong = logIn({ ...merchant, password: 'a wrong password' }, '192.0.2.2');
    await untilRunning(2);
    comparisons.release();
    expect([(await right).status, (await wrong).status]).toEqual([201, 401]);
    expect(comparisons.costs.length).toBeGreaterThanOrEqual(2);
  });

  it('two unknown emails do not share a comparison, so that they take as long as known ones', async () => {
    const logins = ['one@shop.example', 'two@shop.example'].map((email) => logIn({ email }));
    await untilRunning(2);
    comparisons.release();
    for (const { status } of await Promise.all(logins)) expect(status).toBe(401);
    expect(comparisons.costs.length).toBeGreaterThanOrEqual(2);
  });

  it('BCRYPT_CONCURRENCY passwords are compared at the same time', async () => {
    comparisons.release();
    const users = await Promise.all([aMerchant, aMerchant].map((create) => create(service)));
    comparisons.hold();
    const logins = users.map((user) => logIn(user));
    await untilRunning(2);
    expect(comparisons.costs).toHaveLength(1);
    comparisons.release();
    for (const { status } of await Promise.all(logins)) expect(status).toBe(201);
    expect(comparisons.costs.length).toBeGreaterThanOrEqual(2);
  });

  it('many logins from one network delay a login from another network by two of them', async () => {
    const CROWD = 6;
    let compared: string[] = [];
    // If a login was repeated because it waited too long, as on a slow machine, the turns say nothing.
    for (let isRepeated: boolean | undefined = true; isRepeated;) {
      comparisons.hold();
      const many = atOnce(CROWD, (index) => logIn({ email: `user-${index}@shop.example` }));
      await untilWaiting(CROWD - 1);
      const other = logIn(merchant, '198.51.100.1');
      await untilWaiting(CROWD);
      for (const started of [2, 3]) {
        comparisons.releaseOne();
        await until(() => comparisons.hashes.length >= started);
      }
      compared = comparisons.hashes.slice(0, 3);
      comparisons.release();
      expect((await other).status).toBe(201);
      isRepeated = [...(await many), await other].some((answer) => answer.isRepeated);
    }
    // Unknown users share a hash.
    expect(new Set(compared).size).toBe(2);
  });
});
