import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Retry } from '../../clients/typescript/src/index.js';
import { AdminCommandLine } from '../support/admin.js';
import { atOnce } from '../support/client.js';
import { aMerchant, aUser } from '../support/factories.js';
import { all, anOrderOf, clientOf, errorOf, untilAnswered } from '../support/typescript-client.js';
import { failing, type Fault, UnreliableProxy } from '../support/unreliable-proxy.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

describe('the TypeScript client on a network that fails', () => {
  const { service, merchant } = useService();
  let proxy: UnreliableProxy;
  let retries: Retry[];

  const viaProxy = (user = merchant) => clientOf(user, proxy, { onRetry: (retry) => retries.push(retry) });

  beforeAll(async () => {
    proxy = await UnreliableProxy.start(service.url);
  });
  beforeEach(() => {
    retries = [];
  });
  afterAll(() => proxy.stop());

  it.each<Fault>(['refuse', 'page', 'busy', 'lose', 'cut', 'shorten'])(
    'an order whose request meets "%s" three times is created by the fourth try',
    async (fault) => {
      proxy.script('/orders', fault, fault, fault);
      const order = await viaProxy().orders.create(anOrderOf());
      expect(proxy.passed.filter(({ path }) => path === '/orders')).toHaveLength(4);
      expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
      const code = { page: 'unexpected_response', busy: 'unexpected_response' }[fault as string] ?? 'network_error';
      expect(retries.map(({ error }) => error.code)).toEqual([code, code, code]);
      const { external_id, id } = order;
      const rows = await rowsOf<{ id: string }>(service, 'SELECT id FROM orders WHERE external_id = ?', [external_id]);
      expect(rows).toHaveLength(1);
      expect(await clientOf(merchant, service).orders.get(id)).toEqual(order);
    },
  );

  it('after four tries, the call fails with the last error and its cause', async () => {
    proxy.script('/policy', 'refuse', 'refuse', 'refuse', 'refuse');
    const error = await errorOf(viaProxy().policy.get());
    expect(error).toMatchObject({ code: 'network_error', status: 0, retryable: true, nextAction: 'retry' });
    expect(error.cause).toMatchObject({ name: 'TypeError', message: error.detail });
    proxy.script('/policy', 'page', 'page', 'page', 'page');
    expect(await errorOf(viaProxy().policy.get())).toMatchObject({ code: 'unexpected_response', status: 502 });
    expect(retries).toHaveLength(6);
  });

  it('a proxy whose answer is JSON with a code of its own is not the service, and the call is made again', async () => {
    const codes = [503, 'UPSTREAM_DOWN'];
    const client = clientOf(merchant, service, {
      onRetry: (retry) => retries.push(retry),
      fetch: (...request) => {
        const code = (request[0] as string).endsWith('/policy') ? codes.shift() : undefined;
        return code === undefined ? fetch(...request) : Promise.resolve(Response.json({ code }, { status: 503 }));
      },
    });
    await client.policy.get();
    expect(retries.map(({ error: { code, status } }) => ({ code, status }))).toEqual(
      Array(2).fill({ code: 'unexpected_response', status: 503 }),
    );
  });

  it.each([Infinity, 2 ** 40])('a timeout of %d ms is a long one', async (timeout) => {
    const client = viaProxy();
    await client.policy.get();
    proxy.fault = () => 'delay';
    await client.policy.get({ timeout });
    expect(retries).toEqual([]);
  });

  it('a call ends within its timeout although the service does not answer', async () => {
    const client = viaProxy();
    await client.policy.get();
    proxy.fault = () => 'delay';
    const error = await errorOf(client.policy.get({ timeout: 50 }));
    expect(error).toMatchObject({ code: 'network_error', cause: { name: 'TimeoutError' } });
  });

  it('a refusal is not sent again', async () => {
    proxy.script('/orders');
    expect(await errorOf(viaProxy().orders.create({ ...anOrderOf(), total: 'much' }))).toMatchObject({ status: 400 });
    expect(proxy.passed.filter(({ path }) => path === '/orders')).toHaveLength(1);
    expect(retries).toEqual([]);
  });

  it('a CSV that was cut is read again', async () => {
    proxy.script('/reports/outstanding', 'cut');
    expect(await viaProxy().reports.csv('outstanding', {})).toMatch(/^balance,.*\r\n0.*\r\n$/);
    expect(retries).toHaveLength(1);
  });

  it('a logout and a deletion succeed although the response to the first try was lost', async () => {
    const client = viaProxy(await aUser(service, merchant.id, ['events']));
    const { id } = await client.webhookEndpoints.create({ url: 'http://127.0.0.1:9/lost' });
    proxy.script(`/webhook-endpoints/${id}`, 'lose');
    await client.webhookEndpoints.delete(id);
    proxy.script('/auth/logout', 'lose');
    await client.logout();
    expect(proxy.passed.map(({ path }) => path)).toEqual(['/auth/logout', '/auth/logout']);
    expect(retries).toHaveLength(2);
  });

  it('a user whose first creation was lost is a 409 that names the user', async () => {
    proxy.script('/users', 'lose');
    const user = { name: 'Caixa 1', email: 'lost@shop.example', permissions: ['sell' as const] };
    const error = await errorOf(viaProxy().users.create(user));
    const [created] = (await all(clientOf(merchant, service).users.list())).filter(({ email }) => email === user.email);
    expect(error).toMatchObject({ code: 'email_taken', existing_id: created!.id });
  });

  it('if 35 % of requests fail, 25 sales are made exactly once, and the ledger is right', async () => {
    const shop = await aMerchant(service);
    proxy.fault = failing(0.35);
    proxy.passed.length = 0;
    const client = clientOf(shop, proxy);
    const sales = await atOnce(25, async (at) => {
      const cart = anOrderOf({ external_id: `sale-${at}` });
      const { id } = await untilAnswered(() => client.orders.create(cart));
      await untilAnswered(() => client.orders.complete(id));
      await untilAnswered(() => client.refunds.create(id, { external_id: 'r-1', amount: '50.00' }));
      return untilAnswered(() => client.orders.get(id));
    });
    expect(new Set(sales.map(({ external_id }) => external_id)).size).toBe(25);
    for (const sale of sales) expect(sale).toMatchObject({ status: 'partially_refunded', version: 3 });
    const [count] = await rowsOf(service, 'SELECT COUNT(*) AS orders FROM orders WHERE merchant_id = ?', [shop.id]);
    expect(Number(count!.orders)).toBe(25);
    expect(new Set(proxy.passed.map(({ fault }) => fault)).size).toBeGreaterThan(5);
    const { code } = await new AdminCommandLine(service).run('reconcile');
    expect(code).toBe(0);
  });
});
