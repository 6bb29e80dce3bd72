import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { runAdminHere } from '../support/admin.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { answerWith, deliver, type Received, type Receiver, startReceiver } from '../support/receiver.js';
import { testEnvironment } from '../support/service.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';
import { anEndpoint, endpointOf, rowOf, someEvents } from '../support/webhooks.js';
import type { Endpoint } from '../support/shop.js';

const { service, admin } = useAdmin();
const UNKNOWN = '01890000-0000-7000-8000-000000000000';
let merchant: TestMerchant;
let other: TestMerchant;
let receiver: Receiver;

beforeEach(async () => {
  [merchant, other] = [await aMerchant(service), await aMerchant(service)];
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.stop();
  await service.dataSource.query('DELETE FROM webhook_endpoints');
});

const of = (shop: TestMerchant): string[] => ['--merchant', shop.id];
const auditOf = (command: string) =>
  rowsOf(service, 'SELECT * FROM audit_log WHERE command = ? ORDER BY id', [command]);

describe('`webhook create`, `webhook list` and `webhook show`', () => {
  it('`webhook create` prints the endpoint as the API shows it, with a secret that signs', async () => {
    const { secret, ...created } = await admin.json('webhook', 'create', ...of(merchant), '--url', receiver.url);
    expect(created).toEqual(await endpointOf(merchant, created));
    await someEvents(merchant, 1);
    await deliver(service);
    const [{ raw, headers }] = receiver.received as [Received];
    expect(new Webhook(secret as string).verify(raw, headers as Record<string, string>)).toMatchObject({ sequence: 1 });
  });

  it('`webhook create` takes types, and refuses unknown ones, a URL that is taken and one that is not allowed', async () => {
    const create = (...options: string[]): string[] => ['webhook', 'create', ...of(merchant), ...options];
    const created = await admin.json(...create('--url', receiver.url, '--types', 'order.completed', 'order.refunded'));
    expect(created.types).toEqual(['order.completed', 'order.refunded']);
    expect(await admin.refusal(...create('--url', receiver.url))).toContain(created.id);
    expect(await admin.refusal(...create('--url', 'ftp://shop.example/'))).toContain('http');
    expect(await admin.refusal(...create('--url', `${receiver.url}/2`, '--types', 'order.read'))).toContain(
      'order.created',
    );
    expect(await admin.refusal(...create())).toContain('--url');
    expect(await admin.refusal('webhook', 'create', '--url', receiver.url)).toContain('--merchant');
    expect((await merchant.client.get<{ data: Endpoint[] }>('/webhook-endpoints')).body.data).toHaveLength(1);
  });

  it('`webhook create` takes a batch, and refuses one that is not from 1 to 100', async () => {
    const create = (...options: string[]): string[] => [
      'webhook',
      'create',
      ...of(merchant),
      '--url',
      receiver.url,
      ...options,
    ];
    for (const batch of ['0', '101', '1.5', 'x', ''])
      expect(await admin.refusal(...create('--batch', batch))).toContain('--batch');
    const { id, batch } = await admin.json(...create('--batch', '100'));
    expect([batch, (await endpointOf(merchant, { id })).batch]).toEqual([100, 100]);
    expect(await admin.list('webhook', 'list', ...of(merchant))).toMatchObject([{ id, batch: 100 }]);
  });

  it('`webhook create` refuses an unknown merchant and says so', async () => {
    const refusal = await admin.refusal('webhook', 'create', '--merchant', UNKNOWN, '--url', receiver.url);
    expect(refusal).toContain('merchant');
    expect(refusal).not.toMatch(/EntityNotFound|Could not find any entity|ER_|SELECT/);
  });

  it('`webhook list` prints one line per endpoint, and `webhook show` one endpoint with its last attempt', async () => {
    receiver.answer = answerWith(500, {}, 'out of order');
    const endpoints = [await anEndpoint(merchant, receiver), await anEndpoint(merchant, { url: `${receiver.url}/2` })];
    await anEndpoint(other, receiver);
    await someEvents(merchant, 1);
    await deliver(service);
    const listed = await admin.list('webhook', 'list', ...of(merchant));
    expect(listed.map(({ id }) => id)).toEqual(endpoints.map(({ id }) => id));
    const { id } = endpoints[0]!;
    const shown = await admin.json('webhook', 'show', id, ...of(merchant));
    expect(shown).toEqual(await endpointOf(merchant, { id }));
    expect(shown.last_attempt).toMatchObject({ status: 500, response: 'out of order' });
    expect(JSON.stringify([shown, listed])).not.toContain('whsec_');
  });
});

describe('the commands that change an endpoint', () => {
  it('`webhook update` replaces the URL, the types and the batch', async () => {
    const { id } = await anEndpoint(merchant, receiver, { types: ['order.completed'], batch: 5 });
    const update = ['webhook', 'update', id, ...of(merchant), '--url'];
    const url = `${receiver.url}/new`;
    expect(await admin.json(...update, url, '--batch', '9')).toMatchObject({ batch: 9 });
    expect(await admin.json(...update, url)).toMatchObject({ id, url, types: null, batch: 1 });
    expect(await endpointOf(merchant, { id })).toMatchObject({ url, types: null, batch: 1 });
    const { id: taken } = await anEndpoint(merchant, receiver);
    expect(await admin.refusal(...update, receiver.url)).toContain(taken);
  });

  it('`webhook ping` prints the outcome, also of a failure', async () => {
    const { id, secret } = await anEndpoint(merchant, receiver);
    const ping = () => admin.json('webhook', 'ping', id, ...of(merchant));
    expect(await ping()).toMatchObject({ status: 204, error: null });
    const [{ raw, headers }] = receiver.received as [Received];
    expect(new Webhook(secret).verify(raw, headers as Record<string, string>)).toMatchObject({ type: 'ping' });
    receiver.answer = answerWith(503, {}, 'later');
    expect(await ping()).toMatchObject({ status: 503, response: 'later' });
  });

  it('`webhook rotate-secret` prints a secret that signs beside the earlier one', async () => {
    const endpoint = await anEndpoint(merchant, receiver);
    const rotated = await admin.json('webhook', 'rotate-secret', endpoint.id, ...of(merchant));
    await someEvents(merchant, 1);
    await deliver(service);
    const [{ raw, headers }] = receiver.received as [Received];
    for (const { secret } of [endpoint, rotated])
      new Webhook(secret as string).verify(raw, headers as Record<string, string>);
    expect(rotated.secret).not.toBe(endpoint.secret);
  });

  it('`webhook seek`, `webhook enable` and `webhook delete` do what the API does', async () => {
    receiver.answer = answerWith(410);
    const { id } = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 3);
    await deliver(service);
    expect(await endpointOf(merchant, { id })).toMatchObject({ status: 'disabled' });
    const on = (command: string, ...options: string[]): string[] => [
      'webhook',
      command,
      id,
      ...of(merchant),
      ...options,
    ];
    expect(await admin.json(...on('seek', '--after', '2'))).toMatchObject({ cursor: 2, status: 'disabled' });
    expect(await admin.json(...on('enable'))).toMatchObject({ cursor: 2, status: 'active', failures: 0 });
    receiver.answer = answerWith(204);
    await deliver(service);
    expect(receiver.sequences()).toEqual([1, 3]);
    expect(await admin.refusal(...on('seek', '--after', '4'))).toContain('3');
    for (const after of ['-1', 'x', '1.5', ''])
      expect(await admin.refusal(...on('seek', '--after', after))).toContain('--after');
    expect(await admin.refusal(...on('seek'))).toContain("one of '--after' and '--from' is required");
    const from = ['--from', '1970-01-01T00:00:00-03:00'];
    expect(await admin.json(...on('seek', ...from))).toMatchObject({ cursor: 0, behind: 3 });
    expect(await admin.refusal(...on('seek', '--after', '0', ...from))).toContain('cannot be used with');
    expect(await admin.refusal(...on('seek', '--from', '2026-11-20'))).toContain('--from');
    expect(await admin.run(...on('delete'))).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await admin.refusal(...on('delete'))).toContain('no webhook endpoint has this ID');
  });

  it.each([
    ['show', []],
    ['update', ['--url', 'http://127.0.0.1/x']],
    ['delete', []],
    ['ping', []],
    ['rotate-secret', []],
    ['enable', []],
    ['seek', ['--after', '0']],
  ])('`webhook %s` refuses an endpoint of another merchant, and changes nothing', async (command, options) => {
    const endpoint = await anEndpoint(other, receiver);
    const row = await rowOf(service, endpoint);
    for (const id of [endpoint.id, UNKNOWN, 'Preço'])
      expect(await admin.refusal('webhook', command, id, ...of(merchant), ...options)).toContain(
        'no webhook endpoint has this ID',
      );
    expect(await rowOf(service, endpoint)).toEqual(row);
    expect(receiver.connections()).toBe(0);
  });
});

describe('the secrets of the command line', () => {
  it('the audit log has each change with the endpoint, and no secret and no URL', async () => {
    const url = `${receiver.url}?key=hunter2`;
    const { id, secret } = await admin.json('webhook', 'create', ...of(merchant), '--url', url);
    const on = (command: string, ...options: string[]): string[] => [
      'webhook',
      command,
      id,
      ...of(merchant),
      ...options,
    ];
    const rotated = await admin.json(...on('rotate-secret'));
    await admin.json(...on('update', '--url', `${url}2`));
    await admin.json(...on('ping'));
    await admin.json(...on('enable'));
    await admin.json(...on('seek', '--after', '0'));
    await admin.run(...on('delete'));
    for (const command of ['create', 'rotate-secret', 'update', 'ping', 'enable', 'seek', 'delete']) {
      const entries = (await auditOf(`webhook ${command}`)).map((row) => JSON.stringify(row));
      const mine = entries.filter((entry) => entry.includes(id));
      expect(mine).not.toEqual([]);
      expect(mine.join()).toContain(merchant.id);
      for (const text of ['hunter2', 'whsec_', String(secret).slice(6), String(rotated.secret).slice(6)])
        expect(entries.join()).not.toContain(text);
    }
  });

  it('`webhook create`, `ping` and `rotate-secret` need the JWT_SECRET of the service; the others do not', async () => {
    const { id } = await anEndpoint(merchant, receiver);
    const { JWT_SECRET: _, ...env } = testEnvironment(service.databaseUrl);
    const run = (...args: string[]): ReturnType<typeof runAdminHere> =>
      runAdminHere(['webhook', ...args, ...of(merchant)], env);
    const row = await rowOf(service, { id });
    for (const args of [
      ['create', '--url', `${receiver.url}/2`],
      ['ping', id],
      ['rotate-secret', id],
    ]) {
      const { code, stdout, stderr } = await run(...args);
      expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining('JWT_SECRET') });
    }
    expect(await rowOf(service, { id })).toEqual(row);
    expect(receiver.connections()).toBe(0);
    for (const args of [['list'], ['show', id], ['enable', id]])
      expect(await run(...args)).toMatchObject({ code: 0, stderr: '' });
  });
});
