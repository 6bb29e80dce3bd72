import { hostname, userInfo } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { adminProgram } from '../../src/operations/program.js';
import { runNode } from '../support/build.js';
import { Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { testEnvironment } from '../support/service.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';
import type { Tokens } from '../support/shop.js';
import { PERMISSIONS } from '../../src/platform/values/caller.js';

const { service, admin } = useAdmin();

const aMerchantId = async (): Promise<string> => (await admin.json('merchant', 'create', '--name', 'Shop')).id;
const logIn = (email: string, password: string) => new Client(service).post<Tokens>('/auth/login', { email, password });
let counter = 0;
const anEmail = (): string => `Operator-${++counter}@Shop.example`;
/** Creates a user of a new merchant. */
const createUser = async (email: string, ...options: string[]) =>
  admin.json('user', 'create', '--merchant', await aMerchantId(), '--name', 'Caixa', '--email', email, ...options);

/** @returns the path of a command and of each of its subcommands. */
const levelsOf = (command: Command, path: string[] = []): string[][] => [
  path,
  ...command.commands.flatMap((below) => levelsOf(below, [...path, below.name()])),
];

/** @returns each option of a command and of its subcommands that takes an ID of the service, with its command. */
const idOptionsOf = (command: Command, path: string[] = []): string[][] => [
  ...command.options
    .filter(({ flags, long }) => flags.endsWith('<id>') && long !== '--external-id')
    .map(({ long }) => [...path, long!]),
  ...command.commands.flatMap((below) => idOptionsOf(below, [...path, below.name()])),
];

describe('the admin CLI', () => {
  it('the admin CLI prints help for every command', async () => {
    const levels = levelsOf(adminProgram());
    expect(levels).toContainEqual(['cashback', 'grant']);
    for (const level of levels) {
      const { code, stdout, stderr } = await admin.run(...level, '--help');
      expect({ level, code, stderr }).toEqual({ level, code: 0, stderr: '' });
      expect(stdout).toContain(`Usage: ${['admin', ...level].join(' ')}`);
    }
  });

  it('each option of the admin CLI for an ID answers a text that is not a UUID like an unknown ID', async () => {
    const options = idOptionsOf(adminProgram());
    expect(options.map((path) => path.join(' '))).toEqual(
      expect.arrayContaining(['user create --merchant', 'report ledger --merchant', 'order show --order']),
    );
    for (const path of options)
      for (const text of ['Preço', 'Loja', ''])
        expect([...path, await admin.refusal(...path, text)]).toEqual([
          ...path,
          `error: no ${path.at(-1)!.slice(2)} has this ID\n`,
        ]);
    expect(await admin.refusal('merchant', 'set', 'Preço', '--name', 'Shop')).toBe('error: no merchant has this ID\n');
  });

  it('the admin CLI accepts an ID in capital letters', async () => {
    const id = await aMerchantId();
    expect(await admin.json('merchant', 'set', id.toUpperCase(), '--name', 'Same')).toMatchObject({ id });
  });

  it('the admin CLI prints help without a database or configuration', async () => {
    const { code, stdout, stderr } = await runNode('dist/src/admin.js', ['cashback', 'grant', '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Usage: admin cashback grant');
  });

  it('the built admin CLI exits with 1 when a command or the service returns an error', async () => {
    for (const args of [
      ['merchant', 'create'],
      ['user', 'disable', '--email', 'nobody@shop.example'],
    ]) {
      const { code, stdout, stderr } = await admin.built(args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error: .+\n$/);
    }
  });

  it('the admin CLI names every missing or invalid variable at once and needs no secret of the service', async () => {
    const { code, stdout, stderr } = await runNode('dist/src/admin.js', ['merchant', 'list'], { BCRYPT_COST: 'high' });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    for (const variable of ['DATABASE_URL', 'BCRYPT_COST']) expect(stderr).toContain(variable);
    expect(stderr).not.toContain('JWT_SECRET');
  });

  it('the admin CLI reports that the database is unreachable without printing the password', async () => {
    const url = 'mysql://root:a-secret-of-the-database@127.0.0.1:1/cashback';
    const { code, stdout, stderr } = await runNode('dist/src/admin.js', ['merchant', 'list'], testEnvironment(url));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('ECONNREFUSED');
    expect(stderr).not.toContain('a-secret-of-the-database');
  });

  it.each([
    ['merchant', 'create'],
    ['merchant', 'create', '--name', 'Shop', '--earn-rate', 'pix=7'],
    ['merchant', 'create', '--name', 'Shop', '--redeem-minimum-total', '1,00'],
    ['merchant', 'set', '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', '--name', 'Shop'],
    [
      'user',
      'create',
      '--merchant',
      '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10',
      '--name',
      'A',
      '--email',
      'a@shop.example',
    ],
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
  ])('the admin CLI prints an error to stderr and exits with 1: %s %s %s %s %s %s', async (...args) => {
    expect(await admin.refusal(...args.filter((arg) => arg !== undefined))).toMatch(/^error: /);
  });
});

describe('admin commands for merchants', () => {
  it('`merchant create` uses the default policy', async () => {
    expect(await admin.json('merchant', 'create', '--name', 'Loja São João')).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      name: 'Loja São João',
      policy: {
        earn_rate: '5%',
        earn_rates_by_payment_method: {},
        earn_minimum_total: '0.00',
        earn_maximum: null,
        earn_rate_maximum: null,
        redeem_share: '50%',
        redeem_minimum_total: '0.00',
        redeem_minimum: '0.00',
        release_days: 8,
        validity_days: 180,
        order_ttl_minutes: 30,
        max_order_ttl_minutes: 10_080,
        grant_maximum: '1000.00',
        grant_daily_maximum: '5000.00',
        document_check_digits: false,
        late_sale_days: 0,
        earn_rate_ceiling: '20%',
        redeem_share_ceiling: '50%',
        time_zone: 'America/Sao_Paulo',
      },
      created_at: expect.stringMatching(/\.\d{3}Z$/),
    });
  });

  it('merchants can be created with a policy, changed in parts, and listed', async () => {
    const options = [
      '--earn-rate',
      'pix=7.25%',
      '--earn-rate',
      '100bps',
      '--earn-rate',
      'a=b=0%',
      '--redeem-share',
      '100%',
      '--redeem-minimum-total',
      '49.9',
      ...['--earn-minimum-total', '10', '--earn-maximum', '50', '--earn-rate-maximum', '10%'],
      ...['--redeem-minimum', '5', '--grant-daily-maximum', '100'],
    ];
    const made = await admin.json(
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
      '--max-order-ttl-minutes',
      '60',
      '--grant-maximum',
      '0.5',
      '--time-zone',
      'America/Manaus',
    );
    const policy = {
      earn_rate: '1%',
      earn_rates_by_payment_method: { pix: '7.25%', 'a=b': '0%' },
      earn_minimum_total: '10.00',
      earn_maximum: '50.00',
      earn_rate_maximum: '10%',
      redeem_share: '100%',
      redeem_minimum_total: '49.90',
      redeem_minimum: '5.00',
      release_days: 0,
      validity_days: 1,
      order_ttl_minutes: 5,
      max_order_ttl_minutes: 60,
      grant_maximum: '0.50',
      grant_daily_maximum: '100.00',
      document_check_digits: false,
      late_sale_days: 0,
      earn_rate_ceiling: '20%',
      redeem_share_ceiling: '50%',
      time_zone: 'America/Manaus',
    };
    expect(made.policy).toEqual(policy);
    const changed = await admin.json('merchant', 'set', made.id, '--name', 'Renamed', '--release-days', '3');
    expect(changed).toEqual({ ...made, name: 'Renamed', policy: { ...policy, release_days: 3 } });
    expect(await admin.list('merchant', 'list')).toContainEqual(changed);
    expect(await admin.json('merchant', 'set', made.id, '--document-check-digits', 'true')).toEqual({
      ...(changed as object),
      policy: { ...policy, release_days: 3, document_check_digits: true },
    });
    expect(await admin.refusal('merchant', 'set', made.id, '--document-check-digits', 'yes')).toContain('true');
  });

  it('orders cannot live longer by default than they can be asked to', async () => {
    const id = await aMerchantId();
    const refusal = 'order_ttl_minutes must not be above max_order_ttl_minutes, which is 10080';
    expect(await admin.refusal('merchant', 'create', '--name', 'Shop', '--order-ttl-minutes', '10081')).toContain(
      refusal,
    );
    expect(await admin.refusal('merchant', 'set', id, '--order-ttl-minutes', '10081')).toContain(refusal);
    const both = ['--order-ttl-minutes', '10081', '--max-order-ttl-minutes', '10081'];
    expect((await admin.json('merchant', 'set', id, ...both)).policy).toMatchObject({ order_ttl_minutes: 10_081 });
    expect(await admin.refusal('merchant', 'set', id, '--max-order-ttl-minutes', '10080')).toContain(
      'max_order_ttl_minutes must not be below order_ttl_minutes, which is 10081',
    );
  });
});

describe('admin commands for API users', () => {
  it('`user create` prints a strong password once, and the user can log in with it', async () => {
    const email = anEmail();
    const user = await createUser(email);
    expect(user).toMatchObject({
      email: email.toLowerCase(),
      disabled_at: null,
      password: expect.stringMatching(/^[\w-]{32}$/),
    });
    expect((await logIn(email, user.password as string)).status).toBe(201);
    const again = ['--merchant', user.merchant_id as string, '--name', 'Caixa', '--email', email.toUpperCase()];
    expect(await admin.refusal('user', 'create', ...again)).toContain('has this email');
  });

  it('`user create` accepts a password and does not print it', async () => {
    const email = anEmail();
    const user = await createUser(email, '--password', 'twelve bytes');
    expect(user).not.toHaveProperty('password');
    expect((await logIn(email, 'twelve bytes')).status).toBe(201);
    for (const password of ['eleven byte', 'x'.repeat(73), 'é'.repeat(37)]) {
      expect(await admin.refusal('user', 'set-password', '--email', email, '--password', password)).toContain(
        '12 to 72 bytes',
      );
    }
    const { password } = await admin.json('user', 'set-password', '--email', email);
    expectProblem(await logIn(email, 'twelve bytes'), 401, 'invalid_credentials');
    expect((await logIn(email, password as string)).status).toBe(201);
  });

  it('admin commands read a password from stdin, so it does not appear in the process list', async () => {
    const email = anEmail();
    const user = ['--merchant', await aMerchantId(), '--name', 'Caixa', '--email', email, '--password-stdin'];
    const create = ['user', 'create', ...user];
    expect(await admin.builtJson(create, 'twelve bytes\n')).not.toHaveProperty('password');
    expect((await logIn(email, 'twelve bytes')).status).toBe(201);
    await admin.builtJson(['user', 'set-password', '--email', email, '--password-stdin'], 'another twelve');
    expect((await logIn(email, 'another twelve')).status).toBe(201);
    const both = await admin.refusal('user', 'set-password', '--email', email, '--password-stdin', '--password', 'x');
    expect(both).toContain('cannot be used with');
    const { stdout } = await admin.run('user', 'set-password', '--help');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('visible to other users of this machine');
  });

  it('`user disable` rejects the user and its tokens at once, and `user enable` accepts them again', async () => {
    const email = anEmail();
    await createUser(email, '--password', 'twelve bytes');
    const { body } = await logIn(email, 'twelve bytes');
    const client = new Client(service, body.access_token);
    expect((await client.get('/orders')).status).toBe(200);
    for (const _attempt of ['first', 'second'])
      expect((await admin.json('user', 'disable', '--email', email)).disabled_at).toEqual(expect.any(String));
    expectProblem(await client.get('/orders'), 401, 'invalid_token');
    expectProblem(await logIn(email, 'twelve bytes'), 401, 'invalid_credentials');
    expect((await admin.json('user', 'enable', '--email', email)).disabled_at).toBeNull();
    expect((await logIn(email, 'twelve bytes')).status).toBe(201);
  });
});

describe('admin commands for permissions', () => {
  const grant = async (email: string): Promise<number> => {
    const { body } = await logIn(email, 'twelve bytes');
    const document = aDocument();
    const content = { external_id: `SORRY-${document}`, document, amount: '1.00' };
    return (await new Client(service, body.access_token).post('/grants', content)).status;
  };

  it('`user create --allow` names the permissions of a user; by default it may sell and refund', async () => {
    const [manager, cashier, owner] = [anEmail(), anEmail(), anEmail()];
    const allowed = await createUser(manager, '--password', 'twelve bytes', '--allow', 'grants,sell');
    expect(allowed).toMatchObject({ name: 'Caixa', email: manager.toLowerCase(), permissions: ['sell', 'grants'] });
    expect(await createUser(cashier, '--password', 'twelve bytes')).toMatchObject({ permissions: ['sell', 'refund'] });
    expect(await createUser(owner, '--allow', 'all')).toMatchObject({ permissions: PERMISSIONS });
    expect(await admin.list('user', 'list')).toContainEqual(allowed);
    expect([await grant(manager), await grant(cashier)]).toEqual([201, 403]);
    for (const permissions of ['money', 'sell,', '', 'all,sell'])
      expect(await admin.refusal('user', 'allow', manager, permissions)).toContain('all, or some of sell,refund');
  });

  it('no user is named as the operator, or gets a common password', async () => {
    const { id } = await admin.json('merchant', 'create', '--name', 'Loja');
    const create = ['user', 'create', '--merchant', id, '--email', 'named@shop.example', '--name'];
    expect(await admin.refusal(...create, 'Operator')).toContain('the name of the operator');
    expect(await admin.refusal(...create, 'API', '--password', 'qwerty123456')).toContain('most common passwords');
    await admin.json(...create, 'API');
    expect(await admin.refusal('user', 'rename', 'named@shop.example', 'operator')).toContain(
      'the name of the operator',
    );
  });

  it('`user rename` changes the name of a user, which keeps its ID', async () => {
    const { id, email } = await createUser(anEmail());
    for (const _attempt of ['first', 'second'])
      expect(await admin.json('user', 'rename', String(email), 'Caixa 3')).toMatchObject({ id, name: 'Caixa 3' });
    expect(await admin.refusal('user', 'rename', String(email), '')).toContain('It must not be empty.');
    expect(await admin.refusal('user', 'rename', 'nobody@shop.example', 'x')).toContain('no user has the email');
  });

  it('`user allow` and `user deny` change the permission of one user, and repeating them changes nothing', async () => {
    const [email, other] = [anEmail(), anEmail()];
    for (const address of [email, other]) await createUser(address, '--password', 'twelve bytes');
    for (const [command, permissions, status] of [
      ['allow', ['sell', 'refund', 'grants', 'users'], 201],
      ['deny', ['sell', 'refund'], 403],
    ] as const)
      for (const _attempt of ['first', 'second']) {
        expect(await admin.json('user', command, email, 'users,grants')).toMatchObject({ permissions });
        expect([await grant(email), await grant(other)]).toEqual([status, 403]);
        const [record] = await admin.list('audit', 'list', '--limit', '1');
        expect(record).toMatchObject({
          command: `user ${command}`,
          details: { email, permissions: ['grants', 'users'] },
        });
      }
  });

  it('`user allow` and `user deny` refuse an unknown user and an unknown permission', async () => {
    for (const command of ['allow', 'deny']) {
      expect(await admin.refusal('user', command, 'nobody@shop.example', 'grants')).toContain('nobody@shop.example');
      expect(await admin.refusal('user', command, 'nobody@shop.example', 'orders')).toContain('grants');
      await admin.refusal('user', command, 'nobody@shop.example');
    }
  });
});

describe('the audit log', () => {
  const latest = async () => (await admin.list('audit', 'list', '--limit', '1'))[0];

  it('the audit log records who changed what and when, without secrets or documents', async () => {
    const merchantId = await aMerchantId();
    expect(await latest()).toMatchObject({
      command: 'merchant create',
      operator: expect.stringContaining(userInfo().username),
      host: hostname(),
      outcome: 'done',
      details: { merchant_id: merchantId, name: 'Shop' },
      started_at: expect.any(String),
      finished_at: expect.any(String),
    });
    const email = anEmail();
    const user = await createUser(email, '--password', 'twelve bytes');
    expect(await latest()).toMatchObject({ command: 'user create', details: { api_user_id: user.id } });
    const document = aDocument();
    const of = ['--merchant', merchantId, '--document', document];
    const credit = await admin.json('cashback', 'grant', ...of, '--amount', '1.00', '--reason', `for ${document}`);
    expect(await latest()).toMatchObject({
      command: 'cashback grant',
      details: { credit_id: credit.id, amount: '1.00' },
    });
    const { pseudonym } = await admin.json('customer', 'erase', ...of);
    expect(await latest()).toMatchObject({
      command: 'customer erase',
      details: { merchant_id: merchantId, pseudonym },
    });
    const written = JSON.stringify(await rowsOf(service, 'SELECT * FROM audit_log'));
    for (const secret of ['twelve bytes', document, '$2b$']) expect(written).not.toContain(secret);
  });

  it('the audit log records failed changes but not commands that only read', async () => {
    await admin.refusal('user', 'disable', '--email', 'nobody@shop.example');
    await admin.list('merchant', 'list');
    expect(await latest()).toMatchObject({
      command: 'user disable',
      outcome: 'failed',
      details: { email: 'nobody@shop.example' },
    });
  });
});
