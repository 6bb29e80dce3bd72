import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { endWindows, eventsOf, expectLimited, statusesOf, stores } from '../support/rate-limits.js';
import { type Service, startService } from '../support/service.js';

const LIMIT = 3;
const PAIR = `"login";q=${LIMIT};w=900`;
const ADDRESS = `"login-address";q=${5 * LIMIT};w=900`;

let counter = 0;
/** An address that no other test calls from; the service believes it, as it comes through a trusted proxy. */
const anAddress = (): string => `198.51.100.${++counter}`;

function login(service: Service, email: string, password: string, address: string): Promise<Answer> {
  return new Client(service).send('POST', '/auth/login', {
    body: { email, password },
    headers: { 'x-forwarded-for': address },
  });
}

async function failTimes(service: Service, times: number, email: string, address: string): Promise<void> {
  for (let time = 0; time < times; time++)
    expectProblem(await login(service, email, 'a wrong password', address), 401, 'invalid_credentials');
}

describe.each(stores)('limits of log-ins, counted in $store', ({ open }) => {
  let database: TestDatabase;
  let store: Awaited<ReturnType<typeof open>>;
  let one: Service;
  let other: Service;
  let merchant: TestMerchant;
  let home: string;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    store = await open();
    const options = {
      databaseUrl: database.url,
      env: { ...store.env, LOGIN_RATE_LIMIT: String(LIMIT), TRUST_PROXY: 'loopback' },
    };
    [one, other] = [await startService(options), await startService(options)];
  });
  beforeEach(async () => {
    merchant = await aMerchant(one);
    home = anAddress();
  });
  afterAll(async () => {
    await Promise.all([one.stop(), other.stop()]);
    await store.close();
    await database.drop();
  });

  it('refuses after so many failures, even the right password, on every instance', async () => {
    await failTimes(one, LIMIT - 1, merchant.email, home);
    await failTimes(other, 1, merchant.email.toUpperCase(), home);
    for (const service of [one, other]) {
      expectLimited(await login(service, merchant.email, PASSWORD, home), PAIR, 900);
      expectLimited(await login(service, merchant.email, 'a wrong password', home), PAIR, 900);
    }
  });

  it('locks nobody out because somebody fails in its name from elsewhere', async () => {
    const elsewhere = anAddress();
    await failTimes(one, LIMIT, merchant.email, elsewhere);
    expectLimited(await login(one, merchant.email, PASSWORD, elsewhere), PAIR, 900);
    expect((await login(one, merchant.email, PASSWORD, home)).status).toBe(201);
    expect((await merchant.client.get('/orders')).status).toBe(200);
  });

  it('counts failures, not log-ins: any number of the right ones goes through, at once too', async () => {
    const answers = await atOnce(8 * LIMIT, (index) =>
      login(index % 2 === 0 ? one : other, merchant.email, PASSWORD, home),
    );
    expect(statusesOf(answers)).toEqual({ 201: 8 * LIMIT });
  });

  it('forgets the failures of a pair after a success', async () => {
    for (let round = 0; round < 3; round++) {
      await failTimes(one, LIMIT - 1, merchant.email, home);
      expect((await login(other, merchant.email, PASSWORD, home)).status).toBe(201);
    }
  });

  it('lets no more guesses through because they come at once', async () => {
    const answers = await atOnce(12, (index) =>
      login(index % 2 === 0 ? one : other, merchant.email, `guess ${index}`, home),
    );
    expect(statusesOf(answers)).toEqual({ 401: LIMIT, 429: 12 - LIMIT });
    expectLimited(await login(one, merchant.email, PASSWORD, home), PAIR, 900);
  });

  it('refuses an address that fails with many e-mails, known or not, and only that address', async () => {
    for (let guess = 0; guess < 5 * LIMIT; guess++) await failTimes(one, 1, `shop-${guess}@shop.example`, home);
    expectLimited(await login(other, merchant.email, PASSWORD, home), ADDRESS, 900);
    expect((await login(other, merchant.email, PASSWORD, anAddress())).status).toBe(201);
  });

  it('does not forget the failures of an address for one log-in that is right', async () => {
    for (let guess = 0; guess < 5 * LIMIT - 1; guess++) await failTimes(one, 1, `other-${guess}@shop.example`, home);
    expect((await login(one, merchant.email, PASSWORD, home)).status).toBe(201);
    await failTimes(one, 1, 'one-more@shop.example', home);
    expectLimited(await login(one, merchant.email, PASSWORD, home), ADDRESS, 900);
  });

  it('counts the addresses of one IPv6 network as one', async () => {
    const network = `2001:db8:0:${++counter}`;
    await failTimes(one, LIMIT - 1, merchant.email, `${network}::1`);
    await failTimes(one, 1, merchant.email, `${network}:ffff::2`);
    expectLimited(await login(one, merchant.email, PASSWORD, `${network}:1:2:3:4`), PAIR, 900);
    expect((await login(one, merchant.email, PASSWORD, `2001:db8:1:${counter}::1`)).status).toBe(201);
  });

  it('does not count what is no attempt', async () => {
    for (let time = 0; time < 2 * LIMIT; time++)
      expectProblem(await login(one, merchant.email, '', home), 400, 'validation_failed');
    expect((await login(one, merchant.email, PASSWORD, home)).status).toBe(201);
  });

  it('logs each lock-out once as a security event, without the e-mail or a password', async () => {
    // Nest's loggers of one process all write to the log of the service that started last.
    const lockOuts = (): Record<string, unknown>[] => eventsOf(other, 'login_locked_out');
    const before = lockOuts().length;
    await failTimes(one, LIMIT, merchant.email, home);
    await atOnce(3, () => login(one, merchant.email, PASSWORD, home));
    const events = lockOuts().slice(before);
    expect(events).toEqual([
      expect.objectContaining({ context: 'Security', limit: 'login', network: home, email: 'a***@shop.example' }),
    ]);
    const all = [...one.logged, ...other.logged].join('');
    expect(all).not.toContain(merchant.email);
    expect(all).not.toContain('a wrong password');
  });
});

describe('the lock-out', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ env: { LOGIN_RATE_LIMIT: String(LIMIT), TRUST_PROXY: '1' } });
  });
  afterAll(() => service.stop());

  it('ends with its fifteen minutes, and begins anew after as many failures', async () => {
    const [merchant, home] = [await aMerchant(service), anAddress()];
    await failTimes(service, LIMIT, merchant.email, home);
    const refused = await login(service, merchant.email, PASSWORD, home);
    expectLimited(refused, PAIR, 900);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(880);
    await endWindows(service);
    await failTimes(service, LIMIT, merchant.email, home);
    expectLimited(await login(service, merchant.email, PASSWORD, home), PAIR, 900);
    await endWindows(service);
    expect((await login(service, merchant.email, PASSWORD, home)).status).toBe(201);
  });

  it('comes before bcrypt: a refusal costs none', async () => {
    const slow = await startService({ env: { LOGIN_RATE_LIMIT: '1', BCRYPT_COST: '12' } });
    try {
      const attempt = (): Promise<Answer> => login(slow, 'nobody@shop.example', 'a wrong password', '');
      expectProblem(await attempt(), 401, 'invalid_credentials');
      const answers = await atOnce(100, attempt);
      expect(statusesOf(answers)).toEqual({ 429: 100 });
    } finally {
      await slow.stop();
    }
  });
});

describe('TRUST_PROXY', () => {
  it.each<{ title: string; env: Record<string, string>; forged: boolean }>([
    { title: 'off', env: {}, forged: true },
    { title: 'one proxy', env: { TRUST_PROXY: '1' }, forged: false },
    { title: 'a subnet that the caller is in', env: { TRUST_PROXY: '10.0.0.0/8, 127.0.0.0/8' }, forged: false },
    { title: 'a subnet that the caller is not in', env: { TRUST_PROXY: '10.0.0.0/8' }, forged: true },
  ])('decides whose address counts: $title', async ({ env, forged }) => {
    const service = await startService({ env: { LOGIN_RATE_LIMIT: String(LIMIT), ...env } });
    try {
      const merchant = await aMerchant(service);
      // What a caller wrote itself stands left of what the proxy added.
      for (let time = 0; time < LIMIT; time++)
        await failTimes(service, 1, merchant.email, `203.0.113.${time}, 198.51.100.77`);
      expectLimited(await login(service, merchant.email, PASSWORD, '203.0.113.200, 198.51.100.77'), PAIR, 900);
      const { status } = await login(service, merchant.email, PASSWORD, '203.0.113.1, 198.51.100.78');
      expect(status).toBe(forged ? 429 : 201);
    } finally {
      await service.stop();
    }
  });
});
