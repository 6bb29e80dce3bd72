import { randomUUID as aUuid } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROBLEMS } from '../../src/common/problem.js';
import { createDataSource } from '../../src/schema.js';
import { type BuiltService, freePort, startBuiltService } from '../support/built-service.js';
import { type Answer, Client } from '../support/client.js';
import { Contract, type OpenApi, type Operation, type Schema } from '../support/contract.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aDocument, anOrder, PASSWORD } from '../support/factories.js';
import { seedMerchant } from '../support/seed.js';

/** The tests use the build, because the Swagger plugin works only there. */
describe('the OpenAPI document', () => {
  let database: TestDatabase;
  let service: BuiltService;
  let document: OpenApi;
  let contract: Contract;
  let client: Client;
  const seen = new Set<string>();

  beforeAll(async () => {
    database = await createMigratedDatabase();
    service = await startBuiltService(database.url);
    const email = await seedMerchant(createDataSource(database.url));
    document = (await new Client(service).get<OpenApi>('/docs-json')).body;
    contract = new Contract(document);
    const login = await expectDocumented('post', '/auth/login', { email, password: PASSWORD });
    client = new Client(service, login.body.access_token as string);
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });

  /** Sends a request and validates it and the response against the document. */
  async function expectDocumented(
    method: 'get' | 'post' | 'put' | 'delete',
    route: string,
    body?: unknown,
    values: Record<string, string> = {},
    query = '',
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const path = route.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '') + query;
    const answer = await (client ?? new Client(service)).send(method.toUpperCase(), path, { body, headers });
    seen.add(`${method} ${route}`);
    expect(contract.violations({ method, path, body, answer })).toEqual([]);
    return answer;
  }

  /** Reads the feed when it has an event of each of these types. The service numbers events after the commit. */
  async function waitForEvents(): Promise<Answer> {
    const types = ['order.completed', 'order.cancelled', 'order.refunded', 'cashback.granted', 'cashback.voided'];
    for (;;) {
      const answer = await expectDocumented('get', '/events');
      if (types.every((type) => answer.body.data.some((event) => event.type === type))) return answer;
      await sleep(50);
    }
  }

  /** Uses every operation of webhook endpoints. */
  async function expectWebhooksDocumented(): Promise<void> {
    const url = `http://127.0.0.1:${await freePort()}/webhooks`;
    const { body } = await expectDocumented('post', '/webhook-endpoints', { url });
    const known = { id: body.id };
    const unknown = { id: aUuid() };
    await expectDocumented('post', '/webhook-endpoints', { url });
    await expectDocumented('post', '/webhook-endpoints', { url: 'ftp://shop.example' });
    await expectDocumented('post', '/webhook-endpoints', { types: ['order.read'] });
    await expectDocumented('get', '/webhook-endpoints');
    await expectDocumented('put', '/webhook-endpoints/{id}', { url, types: ['order.completed'] }, known);
    await expectDocumented('put', '/webhook-endpoints/{id}', { url, types: [] }, known);
    for (const operation of ['ping', 'rotate-secret', 'enable'])
      for (const values of [known, unknown])
        await expectDocumented('post', `/webhook-endpoints/{id}/${operation}`, undefined, values);
    await expectDocumented('post', '/webhook-endpoints/{id}/seek', { after: 0 }, known);
    await expectDocumented('post', '/webhook-endpoints/{id}/seek', { after: 999_999 }, known);
    for (const values of [known, unknown]) await expectDocumented('get', '/webhook-endpoints/{id}', undefined, values);
    for (const values of [known, unknown])
      await expectDocumented('delete', '/webhook-endpoints/{id}', undefined, values);
  }

  /** Uses every operation of API users. */
  async function expectUsersDocumented(): Promise<void> {
    const user = { name: 'Caixa', email: 'caixa@shop.example', permissions: ['sell'] };
    const { body } = await expectDocumented('post', '/users', user);
    await expectDocumented('post', '/users', user);
    await expectDocumented('post', '/users', {});
    const { body: users } = await expectDocumented('get', '/users', undefined, {}, '?limit=1');
    const change = { name: 'Caixa', permissions: ['refund'], disabled: true };
    for (const id of [body.id, users.data[0]!.id, aUuid()]) {
      await expectDocumented('get', '/users/{id}', undefined, { id });
      await expectDocumented('put', '/users/{id}', change, { id });
      await expectDocumented('post', '/users/{id}/password', undefined, { id });
    }
    await expectDocumented('put', '/users/{id}', {}, { id: body.id });
    await expectDocumented('post', '/auth/password', { current_password: 'x', new_password: 'another password' });
  }

  /** Corrects, exports and erases customers. */
  async function expectCustomersDocumented(): Promise<void> {
    const { body: order } = await expectDocumented('post', '/orders', anOrder({ metadata: { till: '3' } }));
    const values = { id: order.id };
    const change = { document: aDocument(), reason: 'Typed wrongly' };
    await expectDocumented('put', '/orders/{id}/customer', change, values);
    await expectDocumented('post', '/orders/{id}/complete', undefined, values);
    await expectDocumented('put', '/orders/{id}/customer', { ...change, document: order.document }, values);
    await expectDocumented('put', '/orders/{id}/customer', change, values, '', { 'if-match': '"1"' });
    await expectDocumented('put', '/orders/{id}/customer', change, values);
    await expectDocumented('put', '/orders/{id}/customer', { ...change, document: aDocument() }, values);
    await expectDocumented('put', '/orders/{id}/customer', {}, values);
    await expectDocumented('put', '/orders/{id}/customer', change, { id: aUuid() });
    await expectDocumented('post', '/orders/{id}/refunds', { external_id: 'r-1', amount: '5.00' }, values);
    const { document } = change;
    await expectDocumented('post', '/grants', { external_id: 'g-3', document, amount: '8.00' });
    const { body: exported } = await expectDocumented('post', '/customers/export', { document });
    for (const list of ['orders', 'refunds', 'credits', 'grants', 'entries'])
      expect(exported[list]).not.toHaveLength(0);
    await expectDocumented('post', '/customers/export', { document: aDocument() });
    await expectDocumented('post', '/customers/export', {});
    await expectDocumented('post', '/customers/erase', { document, confirm: aDocument() });
    for (const customer of [document, aDocument()])
      await expectDocumented('post', '/customers/erase', { document: customer, confirm: customer });
  }

  /** Uses every report. */
  async function expectReportsDocumented(): Promise<void> {
    const day = (ahead: number): string => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10);
    const period = `?from=${day(-1)}&to=${day(2)}`;
    for (const by of ['', '&by=day', '&by=month', '&by=store', '&by=store_pair', '&by=week'])
      await expectDocumented('get', '/reports/ledger', undefined, {}, `${period}${by}`);
    for (const query of ['', '?by=store', `?as_of=${day(-2)}&by=store`, `?as_of=${day(2)}`])
      await expectDocumented('get', '/reports/outstanding', undefined, {}, query);
    for (const query of ['', '?months=2', '?months=0'])
      await expectDocumented('get', '/reports/expiring', undefined, {}, query);
    for (const query of [period, `${period}&at_least=2`, ''])
      await expectDocumented('get', '/reports/frequent', undefined, {}, query);
    for (const report of ['ledger', 'frequent', 'customers']) {
      const { body } = await expectDocumented('get', `/reports/${report}`, undefined, {}, `${period}&csv=pt-BR`);
      expect(typeof body).toBe('string');
    }
  }

  /** The operations of the document. */
  const operations = (): Operation[] => Object.values(document.paths).flatMap((methods) => Object.values(methods));

  it('the OpenAPI document describes the responses of every operation, including errors', async () => {
    const document = aDocument();
    const order = anOrder({ document, store: 'SP-014' });
    const created = await expectDocumented('post', '/orders', order);
    const id: string = created.body.id;
    await expectDocumented('post', '/orders', order);
    await expectDocumented('post', '/orders', { ...order, total: '1.00', payment_methods: [] });
    await expectDocumented('post', '/orders', {});
    await expectDocumented(
      'post',
      '/orders',
      anOrder({ total: '1.00', payment_methods: [{ id: 'pix', amount: '2.00' }] }),
    );
    await expectDocumented('get', '/orders', undefined, {}, '?limit=1');
    await expectDocumented('get', '/orders', undefined, {}, '?limit=0');
    await expectDocumented('get', '/orders', undefined, {}, '?store=SP-014&status=pending&status=expired');
    await expectDocumented('post', '/orders/search', { document, status: ['pending'], limit: 1 });
    await expectDocumented('post', '/orders/search', { document, limit: 0 });
    await expectDocumented('get', '/orders/{id}', undefined, { id });
    await expectDocumented('get', '/orders/{id}', undefined, { id: 'nothing' });
    await expectDocumented('get', '/orders/by-external-id/{external_id}', undefined, {
      external_id: order.external_id,
    });
    await expectDocumented('get', '/orders/by-external-id/{external_id}', undefined, { external_id: 'nothing' });
    await expectDocumented('post', '/quotes', { document, total: '150.00' });
    await expectDocumented('post', '/quotes', { total: '150.00', redeem: '100.00' });
    await expectDocumented('post', '/quotes', { total: '150.00' });
    const { items, payment_methods } = order;
    const cart = { total: '150.00', items, payment_methods };
    const [fresh, stale] = [{ 'if-match': '"1"' }, { 'if-match': '"7"' }];
    await expectDocumented('put', '/orders/{id}', cart, { id }, '', fresh);
    await expectDocumented('put', '/orders/{id}', cart, { id }, '', stale);
    await expectDocumented('put', '/orders/{id}', { ...cart, total: '149.99' }, { id });
    await expectDocumented('put', '/orders/{id}', {}, { id });
    await expectDocumented('put', '/orders/{id}/redemption', { amount: '0.00' }, { id });
    await expectDocumented('put', '/orders/{id}/redemption', { amount: '1.00' }, { id });
    await expectDocumented('post', '/orders/{id}/complete', undefined, { id });
    await expectDocumented('post', '/orders/{id}/cancel', undefined, { id });
    await expectDocumented('post', '/orders/{id}/cancel', { reason: 7 }, { id });
    const { body: other } = await expectDocumented('post', '/orders', anOrder({ document }));
    await expectDocumented('post', '/orders/{id}/cancel', { reason: 'Out of stock' }, { id: other.id });
    await expectDocumented('post', '/orders/{id}/cancel', undefined, { id: other.id });
    await expectDocumented('post', '/orders/{id}/complete', undefined, { id: other.id });
    const quoted = { amount: '50.00', eligible_amount: '40.00' };
    await expectDocumented('post', '/orders/{id}/refunds/quote', quoted, { id });
    await expectDocumented('post', '/orders/{id}/refunds/quote', { amount: '151.00' }, { id });
    await expectDocumented('post', '/orders/{id}/refunds/quote', {}, { id });
    await expectDocumented('post', '/orders/{id}/refunds/quote', quoted, { id: other.id });
    await expectDocumented('post', '/orders/{id}/refunds/quote', quoted, { id: aUuid() });
    const refund = await expectDocumented(
      'post',
      '/orders/{id}/refunds',
      { external_id: 'r-1', amount: '50.00', reason: 'Defective', store: 'RJ-003', metadata: { till: '3' } },
      { id },
    );
    await expectDocumented('post', '/orders/{id}/refunds', { external_id: 'r-1', amount: '51.00' }, { id });
    await expectDocumented('post', '/orders/{id}/refunds', { external_id: 'r-2', amount: '151.00' }, { id });
    await expectDocumented('get', '/orders/{id}/refunds', undefined, { id }, '?limit=1');
    await expectDocumented('get', '/orders/{id}/refunds', undefined, { id }, '?limit=0');
    await expectDocumented('get', '/orders/{id}/refunds/{refund_id}', undefined, { id, refund_id: refund.body.id });
    await expectDocumented('get', '/orders/{id}/refunds/{refund_id}', undefined, { id, refund_id: id });
    await expectDocumented('get', '/refunds', undefined, {}, '?limit=1&created_from=2020-01-01T00:00:00Z');
    await expectDocumented('get', '/refunds', undefined, {}, '?created_to=now');
    const wallet = await expectDocumented('post', '/wallets/search', { document });
    await expectDocumented('post', '/wallets/search', { document: aDocument() });
    await expectDocumented('post', '/wallets/search', { document: 1 });
    await expectDocumented('get', '/wallets/{id}', undefined, { id: wallet.body.id });
    await expectDocumented('get', '/wallets/{id}', undefined, { id });
    await expectDocumented('get', '/policy');
    const grant = { external_id: 'g-1', document, amount: '80.00', note: 'Third complaint', store: 'SP-014' };
    await expectDocumented('post', '/grants', { ...grant, external_id: 'g-2', expires_on: '2098-12-31' });
    const { body: granted } = await expectDocumented('post', '/grants', grant);
    await expectDocumented('post', '/grants', { ...grant, amount: '81.00' });
    await expectDocumented('post', '/grants', {});
    await expectDocumented('get', '/grants/{id}', undefined, { id: granted.id });
    await expectDocumented('get', '/grants/{id}', undefined, { id });
    await expectDocumented('post', '/grants/{id}/void', { reason: 7 }, { id: granted.id });
    await expectDocumented('post', '/grants/{id}/void', { reason: 'Granted by mistake' }, { id: granted.id });
    await expectDocumented('get', '/grants', undefined, {}, '?limit=1&external_id=g-1');
    await expectDocumented('get', '/grants', undefined, {}, '?user_id=me');
    await expectDocumented('get', '/customers', undefined, {}, '?balance_minimum=1.00');
    await expectDocumented('get', '/customers', undefined, {}, '?balance_minimum=1,00');
    await expectDocumented('get', '/credits', undefined, {}, '?expires_from=2026-01-01&expires_to=2099-01-01');
    await expectDocumented('get', '/credits', undefined, {}, '?expires_to=2026-02-30');
    await expectDocumented('post', '/grants/{id}/void', undefined, { id: granted.id });
    await expectDocumented('post', '/grants/{id}/void', undefined, { id });
    await expectDocumented('get', '/wallets/{id}/entries', undefined, { id: wallet.body.id });
    await expectDocumented('get', '/wallets/{id}/credits', undefined, { id: wallet.body.id });
    await expectDocumented('get', '/wallets/{id}/credits', undefined, { id });
    await expectReportsDocumented();
    const { body: feed } = await waitForEvents();
    await expectDocumented('get', '/events/{id}', undefined, { id: feed.data[0]!.id });
    await expectDocumented('get', '/events/{id}', undefined, { id });
    await expectDocumented('get', '/events', undefined, {}, '?after=1&limit=1&types=order.amended,order.refunded');
    await expectDocumented('get', '/events', undefined, {}, '?types=order.created&types=cashback.granted');
    await expectDocumented('get', '/events', undefined, {}, '?types=order.read');
    await expectWebhooksDocumented();
    await expectUsersDocumented();
    await expectCustomersDocumented();
    await expectDocumented('post', '/auth/login', { email: 'nobody@shop.example', password: 'x' });
    await expectDocumented('post', '/auth/refresh', { refresh_token: 'cbrt_unknown' });
    await expectDocumented('post', '/auth/logout');
    await expectDocumented('post', '/orders', order);
  });

  it('an operation lists only what is particular to it, and has the problems of every operation in its default', () => {
    for (const { operationId, responses } of operations()) {
      expect({ operationId, default: responses.default }).toEqual({
        operationId,
        default: { $ref: '#/components/responses/CommonProblem' },
      });
      const shared = ['413', '415', '429', '500', '503'].filter((status) => status in responses);
      expect({ operationId, shared, few: Object.keys(responses).length <= 7 }).toEqual({
        operationId,
        shared: [],
        few: true,
      });
    }
  });

  it('every error is the one Problem, and its code selects the members that it has', () => {
    const { oneOf, discriminator } = document.components.schemas.Problem!;
    expect(Object.keys(discriminator!.mapping)).toEqual(Object.keys(PROBLEMS));
    expect(oneOf).toEqual(Object.values(discriminator!.mapping).map(($ref) => ({ $ref })));
    const media = [...operations(), { responses: document.components.responses }].flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ content }) => content?.['application/problem+json'] ?? []),
    );
    expect(media.length).toBeGreaterThan(operations().length);
    for (const { schema } of media) expect(schema).toEqual({ $ref: '#/components/schemas/Problem' });
  });

  it('no request has a default, so that generated types of requests require only what is required', () => {
    const withDefault = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties).flatMap(([member, schema]) => ('default' in schema ? [`${name}.${member}`] : [])),
    );
    const parameters = operations().flatMap((operation) => operation.parameters);
    expect(withDefault).toEqual([]);
    expect(parameters.length).toBeGreaterThan(0);
    expect(parameters.filter(({ schema }) => 'default' in schema)).toEqual([]);
  });

  it('every amount has a pattern, every ID of the service is a UUID, and an instant or a day has its format', () => {
    const ofCallers = new Set(['CreateOrderItemDto', 'PaymentMethodDto', 'OrderItemDto', 'OrderPaymentMethodDto']);
    const isOfEvent = (schema: string): boolean => /Event$/.test(schema) || schema === 'WebhookAttemptDto';
    const isExact = (schema: string, member: string, { example, format, pattern }: Schema): boolean => {
      if (/external_id$|^(request_id|earn_rate|redeem_share)$/.test(member)) return true;
      if (/(^|_)id$/.test(member))
        return ofCallers.has(schema) || format === 'uuid' || (isOfEvent(schema) && !!pattern?.startsWith('^evt_'));
      if (/_(at|on)$/.test(member)) return format === (member.endsWith('at') ? 'date-time' : 'date');
      return !/^-?\d+\.\d\d$/.test(String(example)) || pattern !== undefined;
    };
    const inexact = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties).flatMap(([member, schema]) => (isExact(name, member, schema) ? [] : [name, member])),
    );
    expect(inexact).toEqual([]);
    const pattern = new RegExp(document.components.schemas.OrderDto!.properties!.total!.pattern!);
    expect(['0.05', '150.00', '1000000000.00'].every((amount) => pattern.test(amount))).toBe(true);
    expect(['150', '150.5', '-1.00', '01.00'].some((amount) => pattern.test(amount))).toBe(false);
  });

  it('health and metrics, which are for operators, are not in the document', () => {
    expect(Object.keys(document.paths).filter((path) => /health|metrics/.test(path))).toEqual([]);
    expect(document.tags.map(({ name }) => name)).toEqual([
      'auth',
      'users',
      'orders',
      'wallets',
      'customers',
      'events',
      'reports',
      'webhooks',
    ]);
  });

  it('every problem has a schema of its own with a constant code and a valid, complete example', () => {
    const responses = [
      ...operations().flatMap((operation) => Object.values(operation.responses)),
      document.components.responses.CommonProblem!,
    ];
    const codes = new Set<string>();
    for (const { content } of responses) {
      for (const [code, { value }] of Object.entries(content?.['application/problem+json']?.examples ?? {})) {
        const name = `${code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Problem`;
        const schema = document.components.schemas[name]!;
        expect(schema.properties!.code!.const).toBe(code);
        expect(Object.keys(value)).toEqual(expect.arrayContaining(schema.required!));
        expect({ value, errors: contract.errors(['components', 'schemas', name], value) }).toEqual({
          value,
          errors: [],
        });
        codes.add(code);
      }
    }
    expect([...codes].sort()).toEqual(Object.keys(PROBLEMS).sort());
  });

  it('a request schema refuses unknown members, also of nested objects, and a response may get new ones', () => {
    /** Returns the names of the schemas that a part of the document refers to, also through others. */
    const namesIn = (part: unknown, names = new Set<string>()): Set<string> => {
      for (const [, name = ''] of JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g))
        if (!names.has(name)) namesIn(document.components.schemas[name], names.add(name));
      return names;
    };
    const isClosed = (name: string): boolean => document.components.schemas[name]!.additionalProperties === false;
    const requests = [...namesIn(operations().map(({ requestBody }) => requestBody ?? {}))];
    const responses = [...namesIn(document.components.responses), ...namesIn(operations().map((of) => of.responses))];
    const objects = requests.filter((name) => document.components.schemas[name]!.type === 'object');
    expect(objects).toEqual(expect.arrayContaining(['CreateOrderDto', 'CreateOrderItemDto', 'AmendOrderDto']));
    expect(objects.filter((name) => !isClosed(name))).toEqual([]);
    expect([...responses, ...namesIn(document.webhooks)].filter(isClosed)).toEqual([]);
    const { metadata } = document.components.schemas.CreateOrderDto!.properties!;
    expect(metadata!.additionalProperties).toMatchObject({ type: 'string' });
  });

  it('a word or null refers to a schema with a name, and a constant is not a list of one word', () => {
    const { ToRedeemDto, RedemptionExceedsMaximumProblem, ToReceiveDto } = document.components.schemas;
    const orNull = (name: string): object => ({ anyOf: [{ $ref: `#/components/schemas/${name}` }, { type: 'null' }] });
    for (const schema of [ToRedeemDto, RedemptionExceedsMaximumProblem])
      expect(schema!.properties!.limited_by).toMatchObject(orNull('LimitedBy'));
    expect(ToReceiveDto!.properties!.limited_by).toMatchObject(orNull('EarnLimitedBy'));
    const lists: Schema[] = [];
    JSON.stringify(document, (_, part: Schema | null) => {
      if (part?.enum !== undefined) lists.push(part);
      return part;
    });
    expect(lists.length).toBeGreaterThan(10);
    expect(lists.filter(({ enum: words, const: constant }) => words!.length === 1 && words![0] !== constant)).toEqual(
      [],
    );
    expect(lists.filter(({ enum: words }) => (words as unknown[]).includes(null))).toEqual([]);
  });

  it('every parameter of a path has an example that its schema allows', () => {
    const inPaths = Object.entries(document.paths).flatMap(([route, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters }]) =>
        parameters.flatMap(({ in: place, schema: { example } }, at) =>
          place === 'path' ? [{ example, at: ['paths', route, method, 'parameters', String(at), 'schema'] }] : [],
        ),
      ),
    );
    expect(inPaths.length).toBeGreaterThan(20);
    for (const { at, example } of inPaths)
      expect({ at, errors: contract.errors(at, example) }).toEqual({ at, errors: [] });
  });

  it('a client repeats the parameter for each word of a list in a query, which is the default of OpenAPI', () => {
    const lists = operations()
      .flatMap(({ parameters = [] }) => parameters)
      .filter(({ schema }) => schema?.type === 'array');
    expect(lists.map(({ name, explode }) => [name, explode]).sort()).toEqual([
      ['status', undefined],
      ['types', undefined],
    ]);
  });

  it('the OpenAPI document describes only operations that the tests call', () => {
    const described = Object.entries(document.paths).flatMap(([route, methods]) =>
      Object.keys(methods).map((method) => `${method} ${route}`),
    );
    expect([...seen].sort()).toEqual(described.sort());
  });

  it('the OpenAPI document uses the schema names of the specification and has a valid example of each request', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining(['LoginDto', 'RefreshTokenDto', 'ConfigurationUserTokensDto']),
    );
    const bodies = operations().flatMap(({ operationId, requestBody }) =>
      requestBody === undefined ? [] : [{ operationId, ...requestBody.content['application/json']! }],
    );
    expect(bodies.map(({ operationId }) => operationId)).toEqual(
      expect.arrayContaining(['login', 'createOrder', 'amendOrder', 'holdRedemption', 'completeOrder', 'createGrant']),
    );
    for (const { operationId, schema, example } of bodies) {
      const pointer = schema.$ref!.split('/').slice(1);
      expect({ operationId, errors: contract.errors(pointer, example) }).toEqual({ operationId, errors: [] });
      expect(JSON.stringify(example)).not.toContain('null');
    }
  });
});
