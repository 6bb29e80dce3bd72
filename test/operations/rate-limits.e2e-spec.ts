import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Config } from '../../src/config/config.js';
import { createDataSource } from '../../src/schema.js';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { RateLimitSweeper } from '../../src/rate-limits/sweeper.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder, PASSWORD, type TestMerchant } from '../support/factories.js';
import { endWindows, eventsOf, expectLimited, statusesOf, stores } from '../support/rate-limits.js';
import { type Service, startService } from '../support/service.js';

describe.each(stores)('limits of orders, counted in $store', ({ open }) => {
  const RATE_LIMIT = 4;
  const POLICIES = `"orders";q=${RATE_LIMIT};w=1, "orders-burst";q=${10 * RATE_LIMIT};w=60`;
  let database: TestDatabase;
  let store: Awaited<ReturnType<typeof open>>;
  let one: Service;
  let other: Service;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    store = await open();
    const options = { databaseUrl: database.url, env: { ...store.env, RATE_LIMIT: String(RATE_LIMIT) } };
    [one, other] = [await startService(options), await startService(options)];
  });
  afterAll(async () => {
    await Promise.all([one.stop(), other.stop()]);
    await store.close();
    await database.drop();
  });

  const list = (service: Service, { tokens }: TestMerchant): Promise<Answer> =>
    new Client(service, tokens.access_token).get('/orders');

  it('lets the second and the burst through, not a request more, whichever instance is asked', async () => {
    const merchant = await aMerchant(one);
    const answers = await atOnce(150, (index) => list(index % 2 === 0 ? one : other, merchant));
    const { 200: passed = 0, 429: refused = 0 } = statusesOf(answers);
    expect(passed + refused).toBe(150);
    // As many seconds as the requests took, each with its own four.
    expect(passed).toBeGreaterThanOrEqual(11 * RATE_LIMIT);
    expect(passed).toBeLessThanOrEqual(15 * RATE_LIMIT);
    const late = answers.filter(({ status }) => status === 429);
    late.forEach((answer) => expectLimited(answer, POLICIES, 1));
  });

  it('lets the merchant go on after Retry-After, on both instances', async () => {
    const merchant = await aMerchant(one);
    await atOnce(100, (index) => list(index % 2 === 0 ? one : other, merchant));
    const answers = await atOnce(RATE_LIMIT + 5, () => list(one, merchant));
    const refused = answers.find(({ status }) => status === 429);
    expectLimited(refused, POLICIES, 1);
    await sleep(Number(refused?.headers.get('retry-after')) * 1000 + 50);
    expect((await list(other, merchant)).status).toBe(200);
    expect((await list(one, merchant)).status).toBe(200);
  });

  it('leaves other merchants alone, and other users of the same one', async () => {
    const [busy, quiet] = [await aMerchant(one), await aMerchant(one)];
    await one.app.get(ApiUsersService).create(busy.id, `second-${busy.email}`, PASSWORD);
    const { body: second } = await new Client(one).post('/auth/login', {
      email: `second-${busy.email}`,
      password: PASSWORD,
    });
    const all = await atOnce(80, () => list(one, busy));
    expect(statusesOf(all)[429]).toBeGreaterThan(0);
    expect((await list(one, quiet)).status).toBe(200);
    expect((await new Client(one, second.access_token).get('/orders')).status).toBe(200);
  });

  it('counts one user whatever its tokens and whatever it asks, and creates nothing that it refuses', async () => {
    const merchant = await aMerchant(one);
    const { body: again } = await new Client(one).post('/auth/login', { email: merchant.email, password: PASSWORD });
    const tokens = [merchant.tokens.access_token, again.access_token];
    const answers = await atOnce(90, (index) => new Client(one, tokens[index % 2]).post('/orders', anOrder()));
    const { 201: created = 0, 429: refused = 0 } = statusesOf(answers);
    expect(created + refused).toBe(90);
    expect(refused).toBeGreaterThan(0);
    const [{ kept }] = await one.dataSource.query('SELECT COUNT(*) AS kept FROM orders WHERE merchant_id = ?', [
      merchant.id,
    ]);
    expect(Number(kept)).toBe(created);
  });

  it('asks for the access token first: who has none gets 401 however often', async () => {
    const answers = await atOnce(60, () => new Client(one).get('/orders'));
    expect(statusesOf(answers)).toEqual({ 401: 60 });
  });
});

describe('the store of the counts', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ env: { RATE_LIMIT: '4', LOGIN_RATE_LIMIT: '3' } });
  });
  afterAll(() => service.stop());

  it('may be away: orders, renewals and log-ins go on, counted by the instance itself, and the log says so once', async () => {
    const merchant = await aMerchant(service);
    await service.dataSource.query('RENAME TABLE rate_limits TO rate_limits_away');
    try {
      expect((await merchant.client.post('/orders', anOrder())).status).toBe(201);
      expect(
        (await new Client(service).post('/auth/refresh', { refresh_token: merchant.tokens.refresh_token })).status,
      ).toBe(201);
      expect(
        (await new Client(service).post('/auth/login', { email: merchant.email, password: PASSWORD })).status,
      ).toBe(201);
      const answers = await atOnce(100, () => merchant.client.get('/orders'));
      const { 200: passed = 0, 429: refused = 0 } = statusesOf(answers);
      expect(passed + refused).toBe(100);
      expect(passed).toBeGreaterThanOrEqual(40);
      expect(refused).toBeGreaterThan(0);
    } finally {
      await service.dataSource.query('RENAME TABLE rate_limits_away TO rate_limits');
    }
    expect(eventsOf(service, 'rate_limit_store_unavailable')).toHaveLength(1);
    expect((await (await aMerchant(service)).client.post('/orders', anOrder())).status).toBe(201);
  });

  it('keeps no e-mail and no address, and forgets windows that are over', async () => {
    const merchant = await aMerchant(service);
    await new Client(service).post('/auth/login', { email: merchant.email, password: 'wrong' });
    const kept = await service.dataSource.query('SELECT * FROM rate_limits');
    expect(kept.length).toBeGreaterThanOrEqual(2);
    for (const { key } of kept) expect(key).toMatch(/^[0-9a-f]{64}$/);

    expect(await service.app.get(RateLimitSweeper).sweep()).toBe(0);
    await service.dataSource.query('UPDATE rate_limits SET expire = ?', [Date.now() - 61_000]);
    await new Client(service).post('/auth/login', { email: 'nobody@shop.example', password: 'wrong' });
    const fresh = await service.dataSource.query('SELECT * FROM rate_limits WHERE expire > ?', [Date.now()]);
    expect(fresh.length).toBeGreaterThan(0);
    expect(await service.app.get(RateLimitSweeper).sweep()).toBeGreaterThan(0);
    expect(await service.dataSource.query('SELECT * FROM rate_limits')).toEqual(fresh);
  });

  it('may be locked: orders go on in a moment, and no connection is lost', async () => {
    const merchant = await aMerchant(service);
    // On a connection of its own: the service may have one alone.
    const elsewhere = await createDataSource(service.app.get(Config).DATABASE_URL).initialize();
    const lock = elsewhere.createQueryRunner();
    await lock.query('LOCK TABLES rate_limits WRITE');
    try {
      const answers = await atOnce(3, () => merchant.client.post('/orders', anOrder()));
      expect(statusesOf(answers)).toEqual({ 201: 3 });
      // By now the counters are left alone: nobody waits for the same time-out again.
      const since = performance.now();
      expect((await (await aMerchant(service)).client.post('/orders', anOrder())).status).toBe(201);
      expect(performance.now() - since).toBeLessThan(450);
    } finally {
      await lock.query('UNLOCK TABLES');
      await lock.release();
      await elsewhere.destroy();
    }
    expect((await merchant.client.get('/orders')).status).toBe(200);
  });
});

describe('the limit of renewals', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  const refresh = (token: string): Promise<Answer> =>
    new Client(service).post('/auth/refresh', { refresh_token: token });

  it('lets a session renew sixty times a minute, at once as well, and another session meanwhile', async () => {
    const merchant = await aMerchant(service);
    const first = await atOnce(20, () => refresh(merchant.tokens.refresh_token));
    expect(statusesOf(first)).toEqual({ 201: 20 });
    const answers = await atOnce(50, () => refresh(merchant.tokens.refresh_token));
    expect(statusesOf(answers)).toEqual({ 201: 40, 429: 10 });
    const refused = answers.find(({ status }) => status === 429);
    expectLimited(refused, '"refresh";q=60;w=60', 60);

    const { body: session } = await new Client(service).post('/auth/login', {
      email: merchant.email,
      password: PASSWORD,
    });
    expect((await refresh(session.refresh_token)).status).toBe(201);
    expectLimited(await refresh(first[0]?.body.refresh_token), '"refresh";q=60;w=60', 60);

    await endWindows(service);
    expect((await refresh(first[0]?.body.refresh_token)).status).toBe(201);
  });

  it('does not revoke a session whose renewal it refused', async () => {
    const merchant = await aMerchant(service);
    await atOnce(70, () => refresh(merchant.tokens.refresh_token));
    expect((await merchant.client.get('/orders')).status).toBe(200);
  });

  it('answers 401 for tokens it does not know, however many', async () => {
    const answers = await atOnce(80, () => refresh('cbrt_00000000-0000-4000-8000-000000000000'));
    answers.forEach((answer) => expectProblem(answer, 401, 'invalid_refresh_token'));
  });
});
