import { hostname, userInfo } from 'node:os';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { type Member, readOperations } from '../../src/operations/commands.js';
import { adminProgram } from '../../src/operations/program.js';
import { detailsOf } from '../../src/operations/run-operation.js';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { runNode } from '../support/build.js';
import { atOnce, Client } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, aUser, logIn, type TestMerchant } from '../support/factories.js';
import { testEnvironment } from '../support/service.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

const { service, admin } = useAdmin();

let shop: TestMerchant;
let other: TestMerchant;
beforeAll(async () => {
  shop = await aMerchant(service, { releaseDays: 0 });
  other = await aMerchant(service);
});

const unknown = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
const latest = async () => (await admin.list('audit', 'list', '--limit', '1'))[0]!;

/** @returns the path of a command and of each of its subcommands. */
const levelsOf = (command: Command, path: string[] = []): string[][] => [
  path,
  ...command.commands.flatMap((below) => levelsOf(below, [...path, below.name()])),
];

describe('the help of the command line', () => {
  it('every group and command has help with an example, without a database or configuration', async () => {
    const levels = levelsOf(adminProgram());
    expect(levels.length).toBeGreaterThan(80);
    for (const level of levels) {
      const { code, stdout, stderr } = await admin.run(...level, '--help');
      expect({ level, code, stderr }).toEqual({ level, code: 0, stderr: '' });
      expect(stdout).toContain(`Usage: ${['npm run admin --', ...level].join(' ')}`);
      expect(stdout).toMatch(/\nExample:\n {2}npm run admin -- \w|groups? or a command/);
      expect(stdout).not.toMatch(/undefined|\[object/);
    }
    expect(await runNode('dist/src/admin.js', ['grants', 'create', '--help'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('every operation of the API is a command, apart from those about the tokens of the caller and those with a better one', () => {
    const commands = levelsOf(adminProgram()).map((level) => level.join(' '));
    const derived = readOperations().map(({ name }) => name.join(' '));
    expect(new Set(derived).size).toBe(derived.length);
    expect(commands).toEqual(expect.arrayContaining(derived));
    expect(commands).toEqual(
      expect.arrayContaining(['grants import', 'reconcile', 'orders hold', 'refunds void', 'webhooks rotate-secret']),
    );
  });
});

describe('errors of the command line', () => {
  it.each([
    [['merchants', 'create'], '--name is required'],
    [['merchants', 'create', '--name', 'Loja', '--earn-rate', '5'], '--earn-rate must be a decimal string'],
    [['merchants', 'change', unknown, '--name', 'Loja'], 'no merchant has this ID'],
    [['orders', 'get', 'PED-0'], 'none of the orders has the ID or the external_id PED-0'],
    [['orders', 'create', '--items', '[{"id":"x"}]', '--document', '1'], 'which merchant? add --merchant <id>: '],
    [['users', 'get', 'nobody@shop.example'], 'nobody@shop.example'],
    [['wallets', 'get', 'Preço'], 'none of the wallets has the ID Preço'],
    [['grants', 'create', '--document', '52998224725', '--amount', '1.00'], 'which merchant? add --merchant <id>: '],
    [['grants', 'list', '--merchant', unknown], 'no merchant has this ID'],
    [['grants', 'list', '--merchant', 'Nobody'], 'no merchant has this ID or name'],
    [['policy', 'change', '--grant-maximum', '300'], "unknown option '--grant-maximum'"],
    [['quotes', 'create', '--items', '[1'], '--items must be JSON, such as'],
    [['orders', 'list', '--format', 'xml'], 'Allowed choices are table, json, csv, csv-pt-BR'],
  ])('`%s` is an error on stderr with exit code 1', async (args, message) => {
    expect(await admin.refusal(...args)).toContain(message);
  });

  it('an error within a list names the option and the place in it', async () => {
    const order = ['--merchant', shop.id, '--external-id', 'PED-0', '--document', '52998224725', '--total', '1.00'];
    const error = await admin.refusal('orders', 'create', ...order, '--items', '[{"id":"x"}]');
    expect(error).toContain('--items 0 price is required');
    expect(await admin.refusal('customers', 'erase', '--merchant', shop.id, '--yes')).toBe(
      'error: 2 members are not valid: --document is required\n',
    );
  });

  it('all errors of a request are reported at once, each with its option', async () => {
    const given = ['--merchant', shop.id, '--amount', '0', '--document', '123', '--expires-on', 'soon'];
    const error = await admin.refusal('grants', 'create', ...given);
    for (const option of ['--amount must', '--document must', '--expires-on must', '--external-id is required'])
      expect(error).toContain(option);
  });

  it('every missing or invalid variable is named at once', async () => {
    const { code, stdout, stderr } = await runNode('dist/src/admin.js', ['merchants', 'list'], { BCRYPT_COST: 'high' });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    for (const variable of ['DATABASE_URL', 'BCRYPT_COST', 'JWT_SECRET']) expect(stderr).toContain(variable);
  });

  it('an unreachable database is reported without its password', async () => {
    const url = 'mysql://root:a-secret-of-the-database@127.0.0.1:1/cashback';
    const { code, stdout, stderr } = await runNode('dist/src/admin.js', ['merchants', 'list'], testEnvironment(url));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('ECONNREFUSED');
    expect(stderr).not.toContain('a-secret-of-the-database');
  });
});

describe('what a command finds', () => {
  it('an order is found by its ID or its external_id, without a merchant', async () => {
    const { id, external_id } = await shop.create();
    for (const name of [id, id.toUpperCase(), external_id])
      expect(await admin.json('orders', 'get', name)).toMatchObject({ id });
    for (const merchant of [shop.id, shop.id.toUpperCase()])
      expect(await admin.json('orders', 'get', external_id, '--merchant', merchant)).toMatchObject({ id });
    expect(await admin.refusal('orders', 'get', id, '--merchant', other.id)).toContain('none of the orders');
  });

  it('an order is found by an external_id that looks like an ID', async () => {
    const { id } = await shop.create({ external_id: unknown });
    expect(await admin.json('orders', 'get', unknown)).toMatchObject({ id });
  });

  it('an external_id that several merchants have needs a merchant', async () => {
    const name = { external_id: 'PED-OF-BOTH' };
    const [own] = [await shop.create(name), await other.create(name)];
    expect(await admin.refusal('orders', 'get', 'PED-OF-BOTH')).toContain('use the ID, or --merchant');
    expect(await admin.json('orders', 'get', 'PED-OF-BOTH', '--merchant', shop.id)).toMatchObject({ id: own.id });
  });

  it('a refund is found within its order, a campaign by its name, a user by its email in any case', async () => {
    const [first, second] = [await shop.completed(), await shop.completed()];
    for (const { id } of [first, second])
      await shop.post(`/orders/${id}/refunds`, { external_id: 'DEV-1', amount: '1.00' });
    const found = await admin.json('refunds', 'get', second.external_id, 'DEV-1');
    expect(found).toMatchObject({ order_id: second.id });
    expect(await admin.json('users', 'get', other.email.toUpperCase())).toMatchObject({ id: other.userId });
    const campaign = { name: 'Feira', from: '2097-11-27', through: '2097-11-29', rules: { earn_rate: '0.10' } };
    const { id } = await shop.post<{ id: string }>('/campaigns', campaign);
    expect(await admin.json('campaigns', 'get', 'Feira')).toMatchObject({ id, status: 'upcoming' });
    expect(await admin.refusal('campaigns', 'delete', 'Feira')).toContain('add --yes');
    expect(await admin.text('campaigns', 'delete', 'Feira', '--yes')).toBe('');
  });

  it('a merchant is found by its name, and a day in place of an instant begins at the merchant', async () => {
    const { id } = await admin.json('merchants', 'create', '--name', 'Loja Manaus', '--time-zone', 'America/Manaus');
    const find = ['wallets', 'find', '--merchant', 'Loja Manaus', '--document', aDocument()];
    expect(await admin.run(...find)).toMatchObject({
      code: 0,
      stderr: 'note: no customer of the merchant has this document\n',
    });
    const days = ['--created-from', '2026-11-01', '--created-to', '2026-11-02'];
    expect(await admin.list('orders', 'list', '--merchant', id, ...days)).toEqual([]);
    expect(await admin.refusal('orders', 'list', '--merchant', id, '--created-from', '2026-11-31')).toContain(
      '--created-from must be an instant',
    );
  });

  it('lists and reports without a merchant are of all merchants, and their rows say which', async () => {
    await Promise.all([shop.completed(), other.completed()]);
    const rows = await admin.list('orders', 'list', '--status', 'completed');
    for (const { id } of [shop, other])
      expect(rows).toContainEqual(
        expect.objectContaining({ merchant_id: id, merchant_name: expect.stringContaining('Shop') }),
      );
    expect(rows.map(({ merchant_id: id }) => id)).not.toContain(undefined);
    const own = await admin.list('orders', 'list', '--status', 'completed', '--merchant', shop.id);
    expect(own).toEqual((await shop.get<{ data: object[] }>('/orders?status=completed')).data);
  });
});

describe('options of a command', () => {
  it('lists, `all`, null, objects within objects and JSON reach the operation', async () => {
    const rules = ['--rules.earn-rate', '0.15', '--rules.earn-maximum', 'null'];
    const days = ['--from', '2098-11-27', '--through', '2098-11-29'];
    const create = ['campaigns', 'create', '--merchant', shop.id, '--name', 'Sexta', ...days];
    expect(await admin.refusal(...create)).toContain('rules is required');
    const withoutRules = { name: 'Sexta', from: '2098-11-27', through: '2098-11-29' };
    expectProblem(await shop.client.post('/campaigns', withoutRules), 400, 'validation_failed');
    const made = await admin.json(...create, ...rules);
    expect(made).toMatchObject({ rules: { earn_rate: '0.15', earn_maximum: null }, created_by: { name: 'operator' } });
    const email = 'everything@shop.example';
    const user = ['--merchant', shop.id, '--name', 'Tudo', '--email', email, '--permissions', 'all'];
    expect(await admin.json('users', 'create', ...user)).toMatchObject({ permissions: PERMISSIONS });
    const items = JSON.stringify([{ id: 'sku-1', price: '30.00' }]);
    const order = ['--external-id', 'PED-CLI', '--document', '529.982.247-25', '--total', '30.00', '--items', items];
    expect(await admin.json('orders', 'create', '--merchant', shop.id, ...order)).toMatchObject({
      document: '52998224725',
      items: [{ id: 'sku-1' }],
    });
  });

  it('a document is read from stdin, so that nobody sees it', async () => {
    const document = aDocument();
    await shop.grant({ document, amount: '3.00' });
    const find = ['wallets', 'find', '--merchant', shop.id, '--document-stdin'];
    expect(await admin.builtJson(find, `${document}\n`)).toMatchObject({ document, available: '3.00' });
    expect(await admin.builtJson(['customers', 'export', ...find.slice(2)], document)).toMatchObject({ document });
  });

  it('--if-match refuses a change of another version', async () => {
    const { id } = await shop.create();
    expect(await admin.refusal('orders', 'cancel', id, '--if-match', '7')).toContain('version');
    expect(await admin.json('orders', 'cancel', id, '--if-match', '1')).toMatchObject({ status: 'cancelled' });
    const { stderr } = await admin.run('orders', 'cancel', id);
    expect(stderr).toBe('note: it was so before: nothing changed\n');
  });

  it('what cannot be undone needs --yes', async () => {
    const document = aDocument();
    await shop.grant({ document });
    const erase = ['customers', 'erase', '--merchant', shop.id, '--document', document];
    expect(await admin.refusal(...erase)).toBe('error: this cannot be undone: add --yes\n');
    expect(await admin.json(...erase, '--yes')).toMatchObject({ pseudonym: expect.any(String), orders: 0 });
    expect((await shop.wallet(document)).id).toBeNull();
  });
});

describe('the output of a command', () => {
  it('a list is printed whole as JSON or CSV, and a page of it as a table with the times of the merchant', async () => {
    const merchant = await aMerchant(service);
    for (let made = 0; made < 103; made++) await merchant.grant({ amount: '1.00', reason: 'Olá\nvocê' });
    const list = ['grants', 'list', '--merchant', merchant.id];
    const rows = await admin.list(...list);
    expect(rows).toHaveLength(103);
    expect(rows[0]).toEqual((await merchant.get<{ data: object[] }>('/grants?limit=1')).data[0]);
    for (const [format, csv] of [
      ['csv', ''],
      ['csv-pt-BR', '?csv=pt-BR'],
    ]) {
      const file = await fetch(`${service.url}/grants${csv}`, {
        headers: { accept: 'text/csv', authorization: `Bearer ${merchant.tokens.access_token}` },
      });
      expect((await admin.text(...list, '--format', format!)).replace('\uFEFF', '')).toBe(await file.text());
    }
    expect(await admin.run(...list, '--limit', '2')).toMatchObject({ stderr: expect.stringContaining('more rows') });
    const { stdout, stderr } = await admin.run(...list, '--format', 'table');
    expect(stderr).toContain('note: more rows follow');
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(21);
    expect(lines[0]).toMatch(/^external_id +created_at +created_by +document +amount/);
    expect(lines[1]).toMatch(/ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d-03:00 .* Olá\uFFFDvocê/);
  });

  it('a search and the feed are printed whole, too', async () => {
    const [merchant, document] = [await aMerchant(service), aDocument()];
    const names = Array.from({ length: 105 }, (_, at) => `PAGE-${at}`);
    for (const external_id of names) await merchant.create({ external_id, document, total: '1.00' });
    const found = await admin.list('orders', 'search', '--merchant', merchant.id, '--document', document);
    expect(found.map(({ external_id }) => external_id).sort()).toEqual(names.sort());
    await service.clock.sweep();
    const events = await admin.list('events', 'list', '--merchant', merchant.id, '--after', '1');
    expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 104 }, (_, at) => at + 2));
  });

  it('a record is a table of its members and of each of its lists on a terminal', async () => {
    const document = aDocument();
    const order = await shop.completed({ document });
    await shop.post(`/orders/${order.id}/refunds`, { external_id: 'DEV-9', amount: '10.00' });
    const lines = await admin.onTerminal('orders', 'inspect', order.external_id);
    expect(lines).toContainEqual(expect.stringMatching(/^status +partially_refunded$/));
    expect(lines).toContainEqual(expect.stringMatching(/^policy\.earn_rate +0\.05$/));
    expect(lines).toContainEqual(expect.stringMatching(/^DEV-9 +.*10\.00/));
    const shown = await admin.json<{ entries: object[] }>('orders', 'inspect', order.id, '--limit', '1');
    expect(shown).toMatchObject({ refunds: [{ external_id: 'DEV-9' }], entries: [{ kind: 'take_back' }] });
  });

  it('a report has its total in a table and as CSV, not as JSON', async () => {
    const [from, to] = ['2026-01-01', '2026-02-01'];
    const ledger = ['reports', 'ledger', '--merchant', shop.id, '--from', from, '--to', to, '--by', 'day'];
    const { data, total } = await shop.get<{ data: object[]; total: { closing: string } }>(
      `/reports/ledger?from=${from}&to=${to}&by=day`,
    );
    expect(await admin.list(...ledger)).toEqual(data);
    expect((await admin.text(...ledger, '--format', 'csv')).trim().split('\r\n').at(-1)).toMatch(/^TOTAL,/);
    expect((await admin.onTerminal(...ledger)).at(-1)).toMatch(new RegExp(`^TOTAL .* ${total.closing} `));
  });
});

describe('merchants', () => {
  it('a merchant is created with default rules or its own, listed, and changed in what only the operator sets', async () => {
    expect(await admin.json('merchants', 'create', '--name', 'Loja São João')).toMatchObject({
      name: 'Loja São João',
      policy: { earn_rate: '0.05', redeem_share: '0.50', grant_maximum: '1000.00', time_zone: 'America/Sao_Paulo' },
    });
    const rates = JSON.stringify({ pix: '0.0725' });
    const rules = ['--earn-rate', '0.01', '--earn-rates-by-payment-method', rates, '--grant-maximum', '0.5'];
    const made = await admin.json('merchants', 'create', '--name', 'Loja', ...rules, '--time-zone', 'America/Manaus');
    expect(made).toMatchObject({
      policy: { earn_rate: '0.01', earn_rates_by_payment_method: { pix: '0.0725' }, grant_maximum: '0.50' },
    });
    const changes = ['--name', 'Renamed', '--late-sale-days', '3', '--reason', 'Sells on a market'];
    const changed = await admin.json('merchants', 'change', made.id.toUpperCase(), ...changes);
    expect(changed).toEqual({ ...made, name: 'Renamed', policy: { ...(made.policy as object), late_sale_days: 3 } });
    expect(await admin.list('merchants', 'list')).toContainEqual(changed);
    expect((await admin.list('policy', 'history', '--merchant', made.id))[0]).toMatchObject({
      ...{ version: 2, reason: 'Sells on a market', by: { name: 'operator' }, changes: { late_sale_days: 3 } },
    });
    expect(await admin.refusal('merchants', 'change', made.id, '--late-sale-days', '9')).toContain('0 to 7');
    expect(await admin.refusal('merchants', 'change', made.id, '--earn-rate', '0.02')).toContain('unknown option');
  });

  it('rules that contradict each other are refused', async () => {
    const refusal = '--order-ttl-minutes must not be above max_order_ttl_minutes, which is 10080';
    const long = ['--order-ttl-minutes', '10081'];
    expect(await admin.refusal('merchants', 'create', '--name', 'Loja', ...long)).toContain(refusal);
    const change = ['policy', 'change', '--merchant', other.id, '--reason', 'Long orders', ...long];
    expect(await admin.refusal(...change)).toContain(refusal);
    expect(await admin.json(...change, '--max-order-ttl-minutes', '10081')).toMatchObject({
      order_ttl_minutes: 10_081,
    });
  });

  it('the operator sets rules above the ceilings, which users cannot', async () => {
    const above = { earn_rate: '0.50', reason: 'Opening' };
    expectProblem(await other.client.send('PATCH', '/policy', { body: above }), 400, 'validation_failed');
    const change = ['policy', 'change', '--merchant', other.id, '--earn-rate', '0.50', '--reason', 'Opening'];
    expect(await admin.json(...change)).toMatchObject({ earn_rate: '0.50' });
    expect((await admin.run(...change)).stderr).toContain('nothing changed');
  });
});

describe('API users', () => {
  let email: string;
  let password: string;
  let count = 0;
  const aPerson = async (permissions = 'sell,refund') => {
    email = `caixa-${++count}@shop.example`;
    const user = ['--merchant', shop.id, '--name', 'Caixa', '--email', email, '--permissions', permissions];
    const made = await admin.json('users', 'create', ...user);
    password = String(made.password);
    return made;
  };
  beforeEach(async () => void (await aPerson()));

  it('`users create` prints a strong password once, with which the user logs in', async () => {
    expect(password).toMatch(/^[\w-]{32}$/);
    await logIn(service, email, password);
    const again = ['--merchant', shop.id, '--name', 'Caixa', '--email', email.toUpperCase(), '--permissions', 'sell'];
    expect(await admin.refusal('users', 'create', ...again)).toContain('email');
    expect(await admin.refusal('users', 'create', ...again.slice(0, 3), 'Operator', ...again.slice(4))).toContain(
      'the name of the operator',
    );
    expect(JSON.stringify(await admin.json('users', 'get', email))).not.toContain(password);
  });

  it('`users change` changes only what is given, and repeating it changes nothing', async () => {
    const change = (...what: string[]) => admin.json('users', 'change', email, ...what);
    for (const _attempt of ['first', 'second'])
      expect(await change('--allow', 'grants,users', '--deny', 'refund')).toMatchObject({
        ...{ name: 'Caixa', permissions: ['sell', 'grants', 'users'], disabled: false },
      });
    expect(await change('--name', 'Caixa 3')).toMatchObject({
      name: 'Caixa 3',
      permissions: ['sell', 'grants', 'users'],
    });
    expect(await admin.refusal('users', 'change', email, '--allow', 'money')).toContain('--allow must be a list');
    expect(await admin.refusal('users', 'change', email, '--name', '')).toContain('--name must');
  });

  it('a user that is disabled, or gets a new password, loses its sessions at once', async () => {
    const client = new Client(service, (await logIn(service, email, password)).access_token);
    for (const _attempt of ['first', 'second'])
      expect(await admin.json('users', 'change', email, '--disabled', 'true')).toMatchObject({ disabled: true });
    expectProblem(await client.get('/me'), 401, 'invalid_token');
    const refused = await new Client(service).post('/auth/login', { email, password });
    expectProblem(refused, 401, 'invalid_credentials');
    await admin.json('users', 'change', email, '--disabled', 'false');
    const enabled = new Client(service, (await logIn(service, email, password)).access_token);
    const renewed = await admin.json('users', 'renew-password', email);
    expectProblem(await enabled.get('/me'), 401, 'invalid_token');
    await logIn(service, email, String(renewed.password));
  });

  it('sessions that ended long ago are deleted', async () => {
    await logIn(service, email, password);
    expect(await admin.json('users', 'inspect', email)).toMatchObject({
      ...{ email, sessions: 1, failed_logins: [], latest_sessions: [{ revoked_at: null }] },
    });
    expect(await admin.json('sessions', 'prune')).toEqual({ sessions: 0, token_sets: 0 });
    await rowsOf(service, 'UPDATE sessions SET expires_at = expires_at - INTERVAL 400 DAY');
    expect(await admin.json('sessions', 'prune', '--ended-days', '100')).toEqual({
      sessions: expect.any(Number),
      token_sets: expect.any(Number),
    });
    expect(await admin.json('users', 'inspect', email)).toMatchObject({ latest_sessions: [] });
  });
});

describe('the work of an API user whose token is in wrong hands', () => {
  let merchant: TestMerchant;
  let thief: TestMerchant;
  let since: string;
  beforeEach(async () => {
    merchant = await aMerchant(service, { releaseDays: 0 });
    thief = await aUser(service, merchant.id, PERMISSIONS, 'Caixa 3');
    since = new Date().toISOString();
  });
  const of = (command: string, ...more: string[]): string[] => [
    'users',
    command,
    thief.email,
    '--since',
    since,
    ...more,
  ];

  it('`users work` shows its grants and the orders that it completed or corrected, and changes nothing', async () => {
    const document = aDocument();
    const [order, first] = [await merchant.create({ document }), await thief.grant({ document, amount: '30.00' })];
    await merchant.grant({ document });
    const { to_receive: received } = (await thief.complete(order)).cashback;
    const [sold, own] = [await merchant.completed({ document: aDocument() }), aDocument()];
    await thief.put(`/orders/${sold.id}/customer`, { document: own, reason: 'Mine' });
    const shown = await admin.json(...of('work'));
    expect(shown).toMatchObject({
      ...{ grant_count: 1, granted: '30.00', voided: '0.00', completed_count: 1, earned: received.amount },
      grants: [{ id: first.id, amount: '30.00', voided: '0.00' }],
      completed_orders: [{ external_id: order.external_id, document, earned: received.amount }],
      corrected_orders: [{ external_id: sold.external_id, document: own, moved: '7.50', reason: 'Mine' }],
    });
    expect(await admin.json('users', 'work', thief.userId, '--since', since)).toEqual(shown);
    expect(await admin.refusal('users', 'work', thief.email)).toContain('--since is required');
    expect(await merchant.get(`/grants/${first.id}`)).toMatchObject({ voided: '0.00', voided_at: null });
  });

  it('`users void-grants` voids what is left of each grant, and finds nothing more when it is repeated', async () => {
    const documents = Array.from({ length: 103 }, () => aDocument());
    for (const document of documents) await thief.grant({ document, amount: '2.00' });
    await merchant.hold(await merchant.create({ document: documents[0]! }), '0.50');
    const kept = await merchant.grant({ document: documents[1]!, amount: '7.00' });
    const args = of('void-grants', '--reason', 'stolen token', '--limit', '1');
    expect(await admin.refusal(...args)).toContain('add --yes');
    const voided = await admin.json<{ grants: object[] }>(...args, '--yes');
    expect(voided).toMatchObject({
      ...{ grant_count: 103, granted: '206.00', remaining: '0.50', held: '0.50', voided: '205.50' },
      grants: [{ remaining: '0.50', voided: '1.50' }],
    });
    expect(await latest()).toMatchObject({
      ...{ command: 'users void-grants', outcome: 'done' },
      details: { id: thief.userId, merchant_id: merchant.id, voided: '205.50' },
    });
    expect(await admin.json(...args, '--yes')).toEqual(voided);
    expect(await merchant.get(`/grants/${kept.id}`)).toMatchObject({ remaining: '7.00', voided: '0.00' });
    const [first] = (await merchant.get<{ data: object[] }>(`/grants?user_id=${thief.userId}&limit=1`)).data;
    expect(first).toMatchObject({ voided: '2.00', voided_by: { name: 'operator' }, void_reason: 'stolen token' });
    await expectInvariants(service);
  });

  it('`users void-grants` takes each grant back once, also in two runs at once', async () => {
    const document = aDocument();
    for (let granted = 0; granted < 5; granted++) await thief.grant({ document, amount: '2.00' });
    for (const voided of await atOnce(2, () => admin.builtJson(of('void-grants', '--yes'))))
      expect(voided).toMatchObject({ voided: '10.00' });
    const fiveTimes = (movement: string): string[] => Array.from({ length: 5 }, () => movement);
    expect(await merchant.movements(document)).toEqual([...fiveTimes('grant 2.00'), ...fiveTimes('void -2.00')]);
  });
});

describe('the audit log', () => {
  it('a change is recorded with who made it, its merchant, IDs and amounts; a command that reads is not', async () => {
    const document = aDocument();
    const of = ['--merchant', shop.id, '--document', document, '--external-id', 'SORRY-9', '--amount', '1.00'];
    const { id, wallet_id } = await admin.json('grants', 'create', ...of, '--reason', `for ${document}`);
    await admin.json('quotes', 'create', '--merchant', shop.id, '--document', document, '--total', '10.00');
    await admin.list('merchants', 'list');
    expect(await latest()).toMatchObject({
      ...{ command: 'grants create', operator: expect.stringContaining(userInfo().username), host: hostname() },
      ...{ outcome: 'done', started_at: expect.any(String), finished_at: expect.any(String) },
      details: { merchant_id: shop.id, external_id: 'SORRY-9', amount: '1.00', id, wallet_id },
    });
    // What is refused may have a document in another place.
    await admin.refusal('grants', 'create', ...of.slice(0, -1), document);
    expect(await latest()).toMatchObject({
      ...{ command: 'grants create', outcome: 'failed', details: { merchant_id: shop.id } },
    });
    expect(JSON.stringify(await rowsOf(service, 'SELECT * FROM audit_log'))).not.toContain(document);
  });

  it('the audit log keeps no document, secret or free text of any command', () => {
    const kept = new Set<string>();
    for (const operation of readOperations().filter(({ method }) => method !== 'GET')) {
      const isText = ({ schema }: Member): boolean =>
        schema.type !== 'boolean' &&
        schema.type !== 'integer' &&
        schema.enum === undefined &&
        schema.format === undefined;
      const texts = operation.members.filter((member) => member.in === 'body' && isText(member));
      const body: Record<string, unknown> = {};
      for (const { at } of texts) at.reduce((part, name) => (part[name] ??= {}) as typeof body, body);
      const details = detailsOf(operation, { params: {}, query: {}, headers: {}, body });
      for (const name of Object.keys(details)) kept.add(name);
    }
    // A new member of a request is recorded only after somebody has decided that it is not personal.
    expect([...new Set([...kept].map((name) => name.split('.').at(-1)!))].sort()).toEqual([
      ...['allow', 'amount', 'currency', 'deny', 'earn_amount', 'earn_maximum', 'earn_minimum_total', 'earn_rate'],
      ...['earn_rate_ceiling', 'earn_rate_maximum', 'eligible_amount', 'eligible_total', 'external_id'],
      ...['grant_daily_maximum', 'grant_maximum', 'merchant_id', 'permissions', 'redeem', 'redeem_minimum'],
      ...['redeem_minimum_total', 'redeem_share', 'redeem_share_ceiling', 'status', 'store', 'take'],
      ...['time_zone', 'total', 'types'],
    ]);
  });
});
