import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { Client } from '../support/client.js';
import { aDocument, anOrder, aUser, PASSWORD } from '../support/factories.js';
import { lockOrder } from '../support/locked-order.js';
import { useService } from '../support/use-service.js';
import type { Tokens } from '../support/shop.js';

/** The tests exercise every feature at LOG_LEVEL=trace and search everything that the service logs. */
describe('the log', () => {
  const [document, company] = [aDocument(), '12ABC34501DE35'];
  const secrets: string[] = [];
  const { service, merchant } = useService({ env: { LOG_LEVEL: 'trace' } });
  const anyone = new Client(service);

  beforeAll(async () => {
    await exerciseTokens();
    await exerciseOrders();
    await causeServerErrors();
    const jwts: { jwt: string }[] = await service.dataSource.query('SELECT jwt FROM token_sets');
    secrets.push(PASSWORD, 'not the password', ...jwts.map(({ jwt }) => jwt));
  });

  /** Remembers the tokens of a response, so that the tests can search the log for them. */
  function remember(tokens: { access_token?: string; refresh_token?: string }): string {
    secrets.push(...[tokens.access_token, tokens.refresh_token].filter((token) => token !== undefined));
    return tokens.refresh_token ?? '';
  }

  async function exerciseTokens(): Promise<void> {
    const first = remember(merchant.tokens);
    await anyone.post<Tokens>('/auth/login', { email: merchant.email, password: 'not the password' });
    await anyone.post<Tokens>('/auth/login', { email: 'nobody', password: ['not the password'] });
    await anyone.send('POST', '/auth/login', { raw: `{"email":"${merchant.email}","password":"${PASSWORD}` });
    const { body: session } = await anyone.post<Tokens>('/auth/login', { email: merchant.email, password: PASSWORD });
    const { body: second } = await anyone.post<Tokens>('/auth/refresh', { refresh_token: remember(session) });
    await anyone.post<Tokens>('/auth/refresh', { refresh_token: session.refresh_token });
    const { body: third } = await anyone.post<Tokens>('/auth/refresh', { refresh_token: remember(second) });
    remember(third);
    await anyone.post<Tokens>('/auth/refresh', { refresh_token: session.refresh_token });
    await anyone.get(`/orders?access_token=${session.access_token}`, { token: session.access_token });
    await anyone.get('/orders', { token: first });
  }

  async function exerciseOrders(): Promise<void> {
    await merchant.credit(document, '80.00');
    const order = anOrder({ document });
    const body = await merchant.create(order);
    await merchant.create(order);
    await merchant.create({ ...order, total: '151.00' }).refused(409, 'external_id_conflict');
    await merchant.create({ ...order, total: 1, document: `${document}x` }).refused(400, 'validation_failed');
    await merchant.client.send('POST', '/orders', { raw: `{"document":"${document}",` });
    await merchant.hold(body, '20.00');
    await merchant.complete(body, {});
    await merchant.refund(body, '150.00');
    const wallet = await merchant.wallet(document);
    await merchant.entries(wallet);
    await merchant.orders(`document=${document}`).refused(400, 'validation_failed');
  }

  /**
   * A failed statement is the most likely leak: the error of the driver contains the statement with all of its values.
   */
  async function causeServerErrors(): Promise<void> {
    // The service does not expect a violation of this key, and the database message repeats the value.
    await merchant.create({ document: company });
    await service.dataSource.query('CREATE UNIQUE INDEX uq_orders_document ON orders (document)');
    for (const known of [document, company])
      expect((await merchant.create({ document: known }).answer).status).toBe(500);
    await service.dataSource.query('DROP INDEX uq_orders_document ON orders');
    for (const [table, column] of [
      ['token_sets', 'jwt'],
      ['orders', 'policy'],
      ['wallets', 'document'],
      ['api_users', 'email'],
    ]) {
      await service.dataSource.query(`ALTER TABLE ${table} RENAME COLUMN ${column} TO gone`);
      const answers = [
        await merchant.client.once.post('/orders', anOrder({ document })),
        await merchant.client.once.post('/wallets/search', { document }),
        await anyone.once.post('/auth/login', { email: merchant.email, password: PASSWORD }),
      ];
      answers.forEach(({ body }) => remember(body as object));
      await service.dataSource.query(`ALTER TABLE ${table} RENAME COLUMN gone TO ${column}`);
      expect(answers.map(({ status }) => status)).toContain(503);
    }
  }

  const linesWith = (text: string): string[] => service.logged.filter((line) => line.includes(text));

  it('the log contains one JSON line per request', () => {
    expect(service.logged.length).toBeGreaterThan(20);
    expect(service.logged.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({
        method: 'POST',
        route: '/orders',
        status: 201,
        merchant_id: merchant.id,
        api_user_id: merchant.userId,
        session_id: expect.any(String),
        client: '127.0.0.1',
      }),
    );
    const anonymous = service.logged
      .map((line) => JSON.parse(line) as object)
      .find((line) => 'code' in line && 'route' in line && line.route === '/auth/login');
    expect(anonymous).toMatchObject({ client: '127.0.0.1' });
    expect(anonymous).not.toHaveProperty('api_user_id');
  });

  it('a line has the API user and, of a request about an order or a refund, the ID of the order', async () => {
    const till = await aUser(service, merchant.id, PERMISSIONS);
    const { id } = await till.create();
    const path = `/orders/${id}`;
    await till.order({ id });
    await till.orderByExternalId((await till.order({ id })).external_id);
    await till.complete({ id });
    const refund = await till.refund({ id }, '1.00');
    await till.get(`${path}/refunds/${refund.id}`);
    await till.cancel({ id }).refused(409, 'invalid_transition');
    await till.orders();
    await till.post('/quotes', { total: '1.00' });
    const grant = await till.grant();
    await till.readGrant(grant);
    await new Client(service).get(path);
    const lines = service.logged
      .map((line) => JSON.parse(line) as Record<string, string>)
      .filter((line) => line.api_user_id === till.userId && 'route' in line);
    expect(lines.map(({ method, route, order_id }) => [`${method} ${route}`, order_id])).toEqual([
      ['POST /orders', id],
      ['GET /orders/:id', id],
      ['GET /orders/:id', id],
      ['GET /orders/by-external-id/:external_id', undefined],
      ['POST /orders/:id/complete', id],
      ['POST /orders/:id/refunds', id],
      ['GET /orders/:id/refunds/:refund_id', id],
      ['POST /orders/:id/cancel', id],
      ['GET /orders', undefined],
      ['POST /quotes', undefined],
      ['POST /grants', undefined],
      ['GET /grants/:id', undefined],
    ]);
    // An anonymous caller may ask for anything.
    const anonymous = service.logged.map((line) => JSON.parse(line) as Record<string, string>).at(-1);
    expect(anonymous).toMatchObject({ route: '/orders/:id', status: 401 });
    expect(anonymous).not.toHaveProperty('order_id');
  });

  it('health checks and collections of metrics are logged at the level debug while they succeed', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics', '/health/none']) await anyone.get(path);
    const levels = service.logged
      .map((line) => JSON.parse(line) as { level: number; route?: string })
      .filter(({ route = '' }) => /health|metrics/.test(route));
    expect(new Set(levels.map(({ level }) => level))).toEqual(new Set([20]));
  });

  it('the log says that a client disconnected before the response', async () => {
    const body = await merchant.create();
    const lock = await lockOrder(service.databaseUrl, body.id);
    const caller = new AbortController();
    const headers = { authorization: `Bearer ${merchant.tokens.access_token}`, 'x-request-id': 'hung-up' };
    const asking = fetch(`${service.url}/orders/${body.id}/cancel`, { method: 'POST', headers, signal: caller.signal });
    await lock.untilWaiting();
    caller.abort();
    await expect(asking).rejects.toThrow('abort');
    while (linesWith('hung-up').length === 0) await sleep(10);
    await lock.release();
    expect(linesWith('hung-up').map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ route: '/orders/:id/cancel', aborted: true }),
    ]);
  });

  it('a log line contains each member once', () => {
    for (const line of service.logged) expect(JSON.stringify(JSON.parse(line))).toHaveLength(line.trim().length);
  });

  it('the log contains the cause of a server error', () => {
    expect(linesWith('Unknown column').length).toBeGreaterThan(0);
  });

  it('the log contains no password, password hash, token, or JWT', () => {
    expect(secrets.length).toBeGreaterThan(10);
    for (const secret of secrets) expect(linesWith(secret)).toEqual([]);
    expect(linesWith('cbat_')).toEqual([]);
    expect(linesWith('cbrt_')).toEqual([]);
    expect(linesWith('eyJ')).toEqual([]);
    expect(linesWith('$2b$')).toEqual([]);
    expect(linesWith('Bearer ')).toEqual([]);
  });

  it('the log contains documents only in masked form', () => {
    expect([...linesWith(document), ...linesWith(company)]).toEqual([]);
    for (const masked of [`***.${document.slice(3, 6)}.${document.slice(6, 9)}-**`, '**.***.345/01DE-**'])
      expect(linesWith(`Duplicate entry '${masked}'`).length).toBeGreaterThan(0);
  });

  it('the log contains no email of a merchant and no item of a customer', () => {
    expect(linesWith(merchant.email)).toEqual([]);
    expect(linesWith('Café')).toEqual([]);
  });
});
