import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AdminCommandLine } from '../support/admin.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { Comparisons } from '../support/comparisons.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { eventsOf, expectLimited, moveWindows, statusesOf } from '../support/rate-limits.js';
import { type Service, startService } from '../support/service.js';
import { useService } from '../support/use-service.js';

const LIMIT = 3;
const PAIR = `"login";q=${LIMIT};w=900`;
const NETWORK = `"login-network";q=${5 * LIMIT};w=900`;
const MINUTE_MS = 60_000;

let counter = 0;
/** An address that no other test uses. The service reads it from the header because it trusts the proxy. */
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

describe('the limit of failed logins', () => {
  let database: TestDatabase;
  let one: Service;
  let other: Service;
  let merchant: TestMerchant;
  let home: string;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    const options = {
      databaseUrl: database.url,
      env: { LOGIN_RATE_LIMIT: String(LIMIT), TRUST_PROXY: 'loopback' },
    };
    [one, other] = [await startService(options), await startService(options)];
  });
  beforeEach(async () => {
    merchant = await aMerchant(one);
    home = anAddress();
  });
  afterAll(async () => {
    await Promise.all([one.stop(), other.stop()]);
    await database.drop();
  });

  it('failed logins above the limit return 429 on every instance, even with the right password', async () => {
    await failTimes(one, LIMIT - 1, merchant.email, home);
    await failTimes(other, 1, merchant.email.toUpperCase(), home);
    for (const service of [one, other]) {
      expectLimited(await login(service, merchant.email, PASSWORD, home), PAIR, 900);
      expectLimited(await login(service, merchant.email, 'a wrong password', home), PAIR, 900);
    }
  });

  it('failed logins from one network do not lock out the user on another network', async () => {
    const elsewhere = anAddress();
    await failTimes(one, LIMIT, merchant.email, elsewhere);
    expectLimited(await login(one, merchant.email, PASSWORD, elsewhere), PAIR, 900);
    expect((await login(one, merchant.email, PASSWORD, home)).status).toBe(201);
    await merchant.orders();
  });

  it('successful logins are never limited, even when they are concurrent', async () => {
    const answers = await atOnce(4 * LIMIT, (index) =>
      login(index % 2 === 0 ? one : other, merchant.email, PASSWORD, home),
    );
    expect(statusesOf(answers)).toEqual({ 201: 4 * LIMIT });
  });

  it('a successful login resets the failed logins of that user on that network', async () => {
    for (let round = 0; round < 3; round++) {
      await failTimes(one, LIMIT - 1, merchant.email, home);
      expect((await login(other, merchant.email, PASSWORD, home)).status).toBe(201);
    }
  });

  it('concurrent failed logins get no more password checks than the limit allows', async () => {
    const answers = await atOnce(12, (index) =>
      login(index % 2 === 0 ? one : other, merchant.email, `guess ${index}`, home),
    );
    expect(statusesOf(answers)).toEqual({ 401: LIMIT, 429: 12 - LIMIT });
    expectLimited(await login(one, merchant.email, PASSWORD, home), PAIR, 900);
  });

  it('failed logins of many users from one network return 429 for that network only', async () => {
    for (let guess = 0; guess < 5 * LIMIT; guess++) await failTimes(one, 1, `shop-${guess}@shop.example`, home);
    expectLimited(await login(other, merchant.email, PASSWORD, home), NETWORK, 900);
    expect((await login(other, merchant.email, PASSWORD, anAddress())).status).toBe(201);
  });

  it('one successful login does not reset the failed logins of its network', async () => {
    for (let guess = 0; guess < 5 * LIMIT - 1; guess++) await failTimes(one, 1, `other-${guess}@shop.example`, home);
    expect((await login(one, merchant.email, PASSWORD, home)).status).toBe(201);
    await failTimes(one, 1, 'one-more@shop.example', home);
    expectLimited(await login(one, merchant.email, PASSWORD, home), NETWORK, 900);
  });

  it('failed logins from addresses of the same IPv6 /64 are counted together', async () => {
    const network = `2001:db8:0:${++counter}`;
    await failTimes(one, LIMIT - 1, merchant.email, `${network}::1`);
    await failTimes(one, 1, merchant.email, `${network}:ffff::2`);
    expectLimited(await login(one, merchant.email, PASSWORD, `${network}:1:2:3:4`), PAIR, 900);
    expect((await login(one, merchant.email, PASSWORD, `2001:db8:1:${counter}::1`)).status).toBe(201);
  });

  it('invalid login requests are not counted as failed logins', async () => {
    for (let time = 0; time < 2 * LIMIT; time++)
      expectProblem(await login(one, merchant.email, '', home), 400, 'validation_failed');
    expect((await login(one, merchant.email, PASSWORD, home)).status).toBe(201);
  });

  it('each login lockout is logged once as a security event without the email or password', async () => {
    // All Nest loggers of a process write to the log of the service that started last.
    const lockouts = (): Record<string, unknown>[] => eventsOf(other, 'login_locked_out');
    const before = lockouts().length;
    await failTimes(one, LIMIT, merchant.email, home);
    await atOnce(3, () => login(one, merchant.email, PASSWORD, home));
    const events = lockouts().slice(before);
    expect(events).toEqual([
      expect.objectContaining({
        context: 'Security',
        limit: 'login',
        network: home,
        email: 'a***@shop.example',
        api_user_id: merchant.userId,
      }),
    ]);
    const all = [...one.logged, ...other.logged].join('');
    expect(all).not.toContain(merchant.email);
    expect(all).not.toContain('a wrong password');
  });
});

describe('login lockouts', () => {
  const { service } = useService({ env: { LOGIN_RATE_LIMIT: String(LIMIT), TRUST_PROXY: '1' } });

  it('each lockout is counted once in login_lockouts_total under its limit', async () => {
    const counts = async (): Promise<number[]> => {
      const { body } = await new Client(service).get<string>('/metrics');
      return ['login', 'login-network', 'login-user'].map((limit) =>
        Number(new RegExp(`^login_lockouts_total\\{limit="${limit}"\\} (\\d+)$`, 'm').exec(body)?.[1]),
      );
    };
    const [merchant, home] = [await aMerchant(service), anAddress()];
    const before = await counts();
    await failTimes(service, LIMIT, merchant.email, home);
    await atOnce(3, () => login(service, merchant.email, PASSWORD, home));
    expect((await counts()).map((count, at) => count - before[at]!)).toEqual([1, 0, 0]);
  });

  it('each login and each refused login is a log line with the user, the merchant and the client', async () => {
    const [merchant, home] = [await aMerchant(service), anAddress()];
    const who = { context: 'Security', api_user_id: merchant.userId, merchant_id: merchant.id, client: home };
    const ofClient = (event: string): object[] => eventsOf(service, event).filter(({ client }) => client === home);
    expect((await login(service, merchant.email.toUpperCase(), PASSWORD, home)).status).toBe(201);
    const sessions = await service.dataSource.query<{ id: string }[]>(
      'SELECT id FROM sessions WHERE api_user_id = ? ORDER BY id DESC',
      [merchant.userId],
    );
    expect(ofClient('login')).toEqual([expect.objectContaining({ ...who, session_id: sessions[0]!.id })]);
    await failTimes(service, LIMIT, merchant.email, home);
    await login(service, merchant.email, PASSWORD, home);
    await failTimes(service, 1, 'nobody@shop.example', home);
    const refused = (code: string): object => expect.objectContaining({ ...who, code });
    expect(ofClient('login_refused')).toEqual([
      ...Array<object>(LIMIT).fill(refused('invalid_credentials')),
      refused('too_many_requests'),
      expect.objectContaining({ code: 'invalid_credentials', api_user_id: null, client: home }),
    ]);
    expect(ofClient('login')).toHaveLength(1);
  });

  it('a login lockout ends after 15 minutes and starts again after the same number of failures', async () => {
    const [merchant, home] = [await aMerchant(service), anAddress()];
    await failTimes(service, LIMIT, merchant.email, home);
    const refused = await login(service, merchant.email, PASSWORD, home);
    expectLimited(refused, PAIR, 900);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(880);
    await moveWindows(service, -15 * MINUTE_MS);
    await failTimes(service, LIMIT, merchant.email, home);
    expectLimited(await login(service, merchant.email, PASSWORD, home), PAIR, 900);
    await moveWindows(service, -15 * MINUTE_MS);
    expect((await login(service, merchant.email, PASSWORD, home)).status).toBe(201);
  });

  it.each([50, 200])(
    'a login lockout ends at once when its stored window ends %i minutes too late',
    async (minutes) => {
      const [merchant, home] = [await aMerchant(service), anAddress()];
      await failTimes(service, LIMIT, merchant.email, home);
      expectLimited(await login(service, merchant.email, PASSWORD, home), PAIR, 900);
      await moveWindows(service, minutes * MINUTE_MS);
      await failTimes(service, LIMIT - 1, merchant.email, home);
      expect((await login(service, merchant.email, PASSWORD, home)).status).toBe(201);
    },
  );

  it('a login lockout lasts 15 minutes on the database clock, whatever the clock of the instance', async () => {
    const [merchant, home] = [await aMerchant(service), anAddress()];
    const now = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => now() + 50 * MINUTE_MS);
    await failTimes(service, LIMIT, merchant.email, home);
    jest.restoreAllMocks();
    expectLimited(await login(service, merchant.email, PASSWORD, home), PAIR, 900);
    const rows = await service.dataSource.query<{ expire: string }[]>('SELECT expire FROM rate_limits ORDER BY expire');
    expect(Number(rows[0]!.expire)).toBeLessThanOrEqual(Date.now() + 15 * MINUTE_MS + 2000);
    await moveWindows(service, -15 * MINUTE_MS);
    expect((await login(service, merchant.email, PASSWORD, home)).status).toBe(201);
  });

  it('a stored login lockout contains no email or address, and its row is deleted some time after it ended', async () => {
    await service.dataSource.query('DELETE FROM rate_limits');
    const [merchant, home] = [await aMerchant(service), anAddress()];
    await failTimes(service, LIMIT, merchant.email, home);
    const rows = await service.dataSource.query<{ key: string }[]>('SELECT * FROM rate_limits');
    expect(rows.length).toBeGreaterThanOrEqual(3);
    for (const { key } of rows) expect(key).toMatch(/^[0-9a-f]{64}$/);
    await moveWindows(service, -90 * 24 * 60 * MINUTE_MS - 2000);
    await failTimes(service, 1, 'nobody@shop.example', anAddress());
    expect(await service.dataSource.query('SELECT * FROM rate_limits')).toHaveLength(3);
  });

  it('POST /auth/login checks the lockout before bcrypt runs', async () => {
    const comparisons = new Comparisons();
    try {
      const home = anAddress();
      await failTimes(service, LIMIT, 'nobody@shop.example', home);
      expect(comparisons.costs).toHaveLength(LIMIT);
      const answers = await atOnce(20, () => login(service, 'nobody@shop.example', 'a wrong password', home));
      expect(statusesOf(answers)).toEqual({ 429: 20 });
      expect(comparisons.costs).toHaveLength(LIMIT);
    } finally {
      comparisons.stop();
    }
  });

  // The command line replaces the logger of this process, so this test comes last.
  it('`user unlock` ends the lockouts of one user on all networks, and `user show` names them before', async () => {
    const admin = new AdminCommandLine(service);
    const [merchant, other, home, elsewhere] = [
      await aMerchant(service),
      await aMerchant(service),
      anAddress(),
      anAddress(),
    ];
    const show = () =>
      admin.json<{ failed_logins: Record<string, string>[]; latest_sessions: object[] }>(
        'users',
        'inspect',
        merchant.email,
      );
    expect(await show()).toMatchObject({ email: merchant.email, last_login_at: expect.any(String), failed_logins: [] });
    for (const address of [home, elsewhere]) await failTimes(service, LIMIT, merchant.email, address);
    await failTimes(service, LIMIT, other.email, home);
    for (const shop of [merchant, other]) expectLimited(await login(service, shop.email, PASSWORD, home), PAIR, 900);
    const { failed_logins, latest_sessions } = await show();
    expect(failed_logins.map(({ limit, failures }) => [limit, failures]).sort()).toEqual([
      ['login', LIMIT],
      ['login', LIMIT],
      ['login-user', 2 * LIMIT],
    ]);
    for (const { until } of failed_logins) expect(Date.parse(until!)).toBeGreaterThan(Date.now());
    expect(latest_sessions).toEqual([expect.objectContaining({ revoked_at: null })]);
    expect(await admin.json('users', 'unlock', merchant.email)).toMatchObject({ email: merchant.email });
    for (const address of [home, elsewhere])
      expect((await login(service, merchant.email, PASSWORD, address)).status).toBe(201);
    expectLimited(await login(service, other.email, PASSWORD, home), PAIR, 900);
    expect((await show()).failed_logins).toEqual([]);
    // A window that is over no longer counts, although its row is still there.
    await failTimes(service, 1, merchant.email, anAddress());
    expect((await show()).failed_logins).not.toEqual([]);
    await moveWindows(service, -15 * MINUTE_MS);
    expect((await show()).failed_logins).toEqual([]);
    expect((await admin.list('audit', 'list', '--limit', '1'))[0]).toMatchObject({
      command: 'users unlock',
      outcome: 'done',
      details: { id: merchant.userId },
    });
    // Unlocking a user that is not locked out changes nothing, and an unknown one is an error.
    await admin.json('users', 'unlock', merchant.email);
    expect(await admin.refusal('users', 'unlock', 'nobody@shop.example')).toContain('nobody@shop.example');
  });
});

describe('password guesses for one user from many networks', () => {
  const { service } = useService({ env: { LOGIN_RATE_LIMIT: '10', TRUST_PROXY: '1' } });

  it('guesses from many networks return 429 after 50 failures, and the user can log in from a known network', async () => {
    const merchant = await aMerchant(service);
    const home = anAddress();
    expect((await login(service, merchant.email, PASSWORD, home)).status).toBe(201);
    const networks = Array.from({ length: 40 }, anAddress);
    const answers: Answer[] = [];
    // Few at a time, because bcrypt runs few at a time. The order of the networks does not matter.
    for (let guess = 0; guess < 400; guess += 8)
      answers.push(
        ...(await atOnce(8, (index) =>
          login(service, merchant.email, 'a guess', networks[(guess + index) % 40] as string),
        )),
      );
    expect(statusesOf(answers)).toEqual({ 401: 50, 429: 350 });
    const elsewhere = await login(service, merchant.email, PASSWORD, anAddress());
    expectLimited(elsewhere, '"login-user";q=50;w=900', 900);
    for (let time = 0; time < 3; time++)
      expect((await login(service, merchant.email, PASSWORD, home)).status).toBe(201);
    // A failure on the known network counts for that network only.
    await failTimes(service, 1, merchant.email, home);
    expect((await login(service, merchant.email, PASSWORD, home)).status).toBe(201);
    expectLimited(
      await login(service, merchant.email, 'a guess', networks[0] as string),
      '"login-user";q=50;w=900',
      900,
    );
  });

  it('guesses from many networks get the same answers for an unknown email', async () => {
    const networks = Array.from({ length: 10 }, anAddress);
    const answers: Answer[] = [];
    for (let guess = 0; guess < 60; guess++)
      answers.push(await login(service, 'nobody@shop.example', 'a guess', networks[guess % 10] as string));
    expect(statusesOf(answers)).toEqual({ 401: 50, 429: 10 });
  });

  it('guesses from many networks lock out a network that the user has not used for 90 days', async () => {
    const merchant = await aMerchant(service);
    const home = anAddress();
    expect((await login(service, merchant.email, PASSWORD, home)).status).toBe(201);
    await moveWindows(service, -91 * 24 * 60 * MINUTE_MS);
    for (let guess = 0; guess < 51; guess++) await login(service, merchant.email, 'a guess', anAddress());
    expectLimited(await login(service, merchant.email, PASSWORD, home), '"login-user";q=50;w=900', 900);
  });
});

describe('the client address with TRUST_PROXY', () => {
  it.each<{ title: string; env: Record<string, string>; forged: boolean }>([
    { title: 'off', env: {}, forged: true },
    { title: 'one proxy', env: { TRUST_PROXY: '1' }, forged: false },
    { title: 'a subnet that the caller is in', env: { TRUST_PROXY: '10.0.0.0/8, 127.0.0.0/8' }, forged: false },
    { title: 'a subnet that the caller is not in', env: { TRUST_PROXY: '10.0.0.0/8' }, forged: true },
  ])('TRUST_PROXY decides which address failed logins are counted for: $title', async ({ env, forged }) => {
    const service = await startService({ env: { LOGIN_RATE_LIMIT: String(LIMIT), ...env } });
    try {
      const merchant = await aMerchant(service);
      // The proxy appends the address to whatever the caller sent.
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
