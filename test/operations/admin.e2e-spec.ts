import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { runNode, type Outcome } from '../support/build.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aCompletedOrder, aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { type Service, startService, testEnvironment } from '../support/service.js';
import { rowsOf, walletOf } from '../support/wallets.js';

// Each command is a process of its own, which loads the whole build.
jest.setTimeout(60_000);

let database: TestDatabase;
let service: Service;

beforeAll(async () => {
  database = await createMigratedDatabase();
  service = await startService({ databaseUrl: database.url });
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const admin = (...args: string[]): Promise<Outcome> =>
  runNode('dist/src/admin.js', args, testEnvironment(database.url));

/** What a command prints; nothing else may stand on stdout or stderr. */
async function adminJson(...args: string[]): Promise<any> {
  const { code, stdout, stderr } = await admin(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

/** What a refused command says; it prints nothing on stdout. */
async function expectRefusal(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await admin(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: .+\n$/);
  return stderr;
}

const aMerchantId = async (): Promise<string> => (await adminJson('merchant', 'create', '--name', 'Shop')).id;
const logIn = (email: string, password: string) => new Client(service).post('/auth/login', { email, password });
let counter = 0;
const anEmail = (): string => `Operator-${++counter}@Shop.example`;

describe('the command line', () => {
  it('explains itself on every level without a database or any configuration', async () => {
    const levels = [
      [],
      ['merchant'],
      ['merchant', 'create'],
      ['merchant', 'list'],
      ['merchant', 'set'],
      ['user'],
      ['user', 'create'],
      ['user', 'disable'],
      ['user', 'enable'],
      ['user', 'set-password'],
      ['session'],
      ['session', 'prune'],
      ['cashback'],
      ['cashback', 'grant'],
      ['wallet'],
      ['wallet', 'show'],
      ['reconcile'],
    ];
    const outcomes = await Promise.all(levels.map((level) => runNode('dist/src/admin.js', [...level, '--help'])));
    for (const [at, level] of levels.entries()) {
      const { code, stdout, stderr } = outcomes[at] as Outcome;
      expect({ level, code, stderr }).toEqual({ level, code: 0, stderr: '' });
      expect(stdout).toContain(`Usage: ${['admin', ...level].join(' ')}`);
    }
  });

  it('names every missing or bad variable at once, and needs no secret of the service', async () => {
    const { code, stdout, stderr } = await runNode('dist/src/admin.js', ['merchant', 'list'], { BCRYPT_COST: 'high' });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    for (const variable of ['DATABASE_URL', 'BCRYPT_COST']) expect(stderr).toContain(variable);
    expect(stderr).not.toContain('JWT_SECRET');
  });

  it('says that the database can not be reached, and shows no password of it', async () => {
    const url = 'mysql://root:a-secret-of-the-database@127.0.0.1:1/cashback';
    const { code, stdout, stderr } = await runNode('dist/src/admin.js', ['merchant', 'list'], testEnvironment(url));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('ECONNREFUSED');
    expect(stderr).not.toContain('a-secret-of-the-database');
  });

  it.each([
    ['merchant', 'create'],
    ['merchant', 'create', '--name', 'Shop', '--earn-rate', 'pix=7%'],
    ['merchant', 'create', '--name', 'Shop', '--redeem-minimum-total', '1,00'],
    ['merchant', 'set', '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', '--name', 'Shop'],
    ['user', 'create', '--merchant', '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', '--email', 'a@shop.example'],
    ['user', 'disable', '--email', 'nobody@shop.example'],
    [
      'cashback',
      'grant',
      '--merchant',
      '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10',
      '--document',
      '52998224725',
      '--amount',
      '1.00',
    ],
    ['wallet', 'show', '--merchant', '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', '--document', '52998224725'],
  ])('refuses with exit code 1 and a word on stderr: %s %s %s %s %s %s', async (...args) => {
    await expectRefusal(...args.filter((arg) => arg !== undefined));
  });
});

describe('merchants', () => {
  it('are made with the default policy', async () => {
    expect(await adminJson('merchant', 'create', '--name', 'Loja São João')).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      name: 'Loja São João',
      policy: {
        earn_rate_bps: 500,
        earn_rates_by_payment_method: {},
        redeem_share_bps: 5000,
        redeem_minimum_total: '0.00',
        release_days: 8,
        validity_days: 180,
        order_ttl_minutes: 30,
      },
      created_at: expect.stringMatching(/\.\d{3}Z$/),
    });
  });

  it('are made with a policy of their own, changed in parts, and listed', async () => {
    const options = [
      '--earn-rate-bps',
      '100',
      '--earn-rate',
      'pix=700',
      '--earn-rate',
      'a=b=0',
      '--redeem-share-bps',
      '10000',
      '--redeem-minimum-total',
      '49.9',
    ];
    const made = await adminJson(
      'merchant',
      'create',
      '--name',
      'Shop',
      ...options,
      '--release-days',
      '0',
      '--validity-days',
      '1',
      '--order-ttl-minutes',
      '5',
    );
    const policy = {
      earn_rate_bps: 100,
      earn_rates_by_payment_method: { pix: 700, 'a=b': 0 },
      redeem_share_bps: 10_000,
      redeem_minimum_total: '49.90',
      release_days: 0,
      validity_days: 1,
      order_ttl_minutes: 5,
    };
    expect(made.policy).toEqual(policy);
    const changed = await adminJson('merchant', 'set', made.id as string, '--name', 'Renamed', '--release-days', '3');
    expect(changed).toEqual({ ...made, name: 'Renamed', policy: { ...policy, release_days: 3 } });
    expect(await adminJson('merchant', 'list')).toContainEqual(changed);
  });
});

describe('API users', () => {
  it('are made with a strong password that is printed once and logs in', async () => {
    const email = anEmail();
    const user = await adminJson('user', 'create', '--merchant', await aMerchantId(), '--email', email);
    expect(user).toMatchObject({
      email: email.toLowerCase(),
      disabled_at: null,
      password: expect.stringMatching(/^[\w-]{32}$/),
    });
    expect((await logIn(email, user.password as string)).status).toBe(201);
    expect(
      await expectRefusal('user', 'create', '--merchant', user.merchant_id as string, '--email', email.toUpperCase()),
    ).toContain('already');
  });

  it('are made with a given password, which is not printed', async () => {
    const email = anEmail();
    const user = await adminJson(
      'user',
      'create',
      '--merchant',
      await aMerchantId(),
      '--email',
      email,
      '--password',
      'twelve bytes',
    );
    expect(user).not.toHaveProperty('password');
    expect((await logIn(email, 'twelve bytes')).status).toBe(201);
    for (const password of ['eleven byte', 'x'.repeat(73), 'é'.repeat(37)]) {
      expect(await expectRefusal('user', 'set-password', '--email', email, '--password', password)).toContain(
        '12 to 72 bytes',
      );
    }
    const { password } = await adminJson('user', 'set-password', '--email', email);
    expectProblem(await logIn(email, 'twelve bytes'), 401, 'invalid_credentials');
    expect((await logIn(email, password as string)).status).toBe(201);
  });

  it('are refused at once when disabled, their tokens too, and let in again when enabled', async () => {
    const email = anEmail();
    await adminJson(
      'user',
      'create',
      '--merchant',
      await aMerchantId(),
      '--email',
      email,
      '--password',
      'twelve bytes',
    );
    const { body } = await logIn(email, 'twelve bytes');
    const client = new Client(service, body.access_token);
    expect((await client.get('/orders')).status).toBe(200);
    for (const _attempt of ['first', 'second'])
      expect((await adminJson('user', 'disable', '--email', email)).disabled_at).toEqual(expect.any(String));
    expectProblem(await client.get('/orders'), 401, 'invalid_token');
    expectProblem(await logIn(email, 'twelve bytes'), 401, 'invalid_credentials');
    expect((await adminJson('user', 'enable', '--email', email)).disabled_at).toBeNull();
    expect((await logIn(email, 'twelve bytes')).status).toBe(201);
  });
});

describe('cashback and wallets', () => {
  let merchant: TestMerchant;
  beforeAll(async () => {
    merchant = await aMerchant(service);
  });

  it('grants cashback, which the customer can spend at once, in whatever zone the operator sits', async () => {
    const document = aDocument();
    const args = ['cashback', 'grant', '--merchant', merchant.id, '--document', document];
    const until = '2099-01-01T00:30:00.250+02:00';
    const tokyo = await runNode(
      'dist/src/admin.js',
      [...args, '--amount', '80', '--expires-at', until, '--reason', 'Desculpe 🎁'],
      { ...testEnvironment(database.url), TZ: 'Asia/Tokyo' },
    );
    const credit = JSON.parse(tokyo.stdout);
    expect(credit).toMatchObject({ amount: '80.00', expires_at: '2098-12-31T22:30:00.250Z', reason: 'Desculpe 🎁' });
    const [row] = await rowsOf(service, 'SELECT CAST(expires_at AS CHAR) AS text FROM cashback_credits WHERE id = ?', [
      credit.id,
    ]);
    expect(row.text).toBe('2098-12-31 22:30:00.250');
    expect(await walletOf(merchant, document)).toMatchObject({ id: credit.wallet_id, available: '80.00' });

    await adminJson(...args, '--amount', '5.5', '--available-at', '2098-01-01T00:00:00Z');
    const shown = await adminJson('wallet', 'show', '--merchant', merchant.id, '--document', document);
    expect(shown).toMatchObject({
      ...(await walletOf(merchant, document)),
      pending: '5.50',
      entries: [{ seq: 2 }, { seq: 1 }],
    });
    expect(shown.credits.map(({ remaining }: { remaining: string }) => remaining).sort()).toEqual(['5.50', '80.00']);
    await expectInvariants(service);
  });

  it.each([
    ['--amount', '0.00'],
    ['--expires-at', '2020-01-01T00:00:00Z'],
    ['--available-at', '2099-02-30T00:00:00Z'],
  ])('grants nothing where %s is %j', async (option, value) => {
    const document = aDocument();
    const given: Record<string, string> = {
      '--merchant': merchant.id,
      '--document': document,
      '--amount': '1.00',
      [option]: value,
    };
    await expectRefusal('cashback', 'grant', ...Object.entries(given).map(([name, text]) => `${name}=${text}`));
    expect((await walletOf(merchant, document)).id).toBeNull();
  });
});

describe('pruning sessions', () => {
  const DAYS_AGO = (days: number): Date => new Date(Date.now() - days * 86_400_000);
  const end = (merchant: TestMerchant, column: string, at: Date): Promise<unknown> =>
    rowsOf(
      service,
      `UPDATE sessions s JOIN api_users u ON u.id = s.api_user_id SET s.${column} = ? WHERE u.email = ?`,
      [at, merchant.email.toLowerCase()],
    );
  const refresh = (merchant: TestMerchant) =>
    new Client(service).post('/auth/refresh', { refresh_token: merchant.tokens.refresh_token });

  it('deletes those that ended long ago with their token sets, and no other; a second time it finds nothing', async () => {
    const [expired, revoked, lately, live] = (await Promise.all(
      Array.from({ length: 4 }, () => aMerchant(service)),
    )) as [TestMerchant, TestMerchant, TestMerchant, TestMerchant];
    expect((await refresh(revoked)).status).toBe(201);
    await end(expired, 'expires_at', DAYS_AGO(31));
    await end(revoked, 'revoked_at', DAYS_AGO(31));
    await end(lately, 'revoked_at', DAYS_AGO(29));

    expect(await adminJson('session', 'prune')).toEqual({ sessions: 2, token_sets: 3 });
    expect(await adminJson('session', 'prune')).toEqual({ sessions: 0, token_sets: 0 });
    expect((await live.client.get('/orders')).status).toBe(200);
    for (const gone of [expired, revoked, lately]) {
      expectProblem(await gone.client.get('/orders'), 401, 'invalid_token');
      expectProblem(await refresh(gone), 401, 'invalid_refresh_token');
    }
    expect(await adminJson('session', 'prune', '--ended-days', '1')).toEqual({ sessions: 1, token_sets: 1 });
    expect((await refresh(live)).status).toBe(201);
  });

  it.each(['0', '-1', 'all'])('refuses to take %j for days', async (days) => {
    expect(await expectRefusal('session', 'prune', `--ended-days=${days}`)).toContain('whole number');
  });
});

describe('reconcile', () => {
  it('finds nothing in what the service wrote, prints the counts, and exits with 0', async () => {
    expect(await adminJson('reconcile')).toEqual({
      wallets: expect.any(Number),
      orders: expect.any(Number),
      findings: 0,
      warnings: [],
    });
  });

  it('prints one JSON line per finding, then the counts, and exits with 1', async () => {
    const order = await aCompletedOrder(await aMerchant(service));
    await rowsOf(service, 'UPDATE cashback_credits SET remaining_cents = remaining_cents - 1 WHERE order_id = ?', [
      order.id,
    ]);
    await rowsOf(service, 'UPDATE orders SET earned_cents = earned_cents + 1 WHERE id = ?', [order.id]);
    const { code, stdout, stderr } = await admin('reconcile');
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toContainEqual(
      expect.objectContaining({
        invariant: expect.stringContaining('a credit has left'),
        remaining_cents: 749,
        entries_cents: '750',
      }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({
        invariant: expect.any(String),
        order_id: order.id,
        earned_cents: 751,
        earn_entries: 750,
      }),
    );
    expect(lines.at(-1)).toMatchObject({ findings: lines.length - 1 });
  });
});
