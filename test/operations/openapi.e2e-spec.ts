import { randomUUID } from 'node:crypto';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROBLEMS } from '../../src/platform/values/problem.js';
import { createDataSource } from '../../src/schema.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { Contract, type OpenApi, type Operation, type Schema } from '../support/contract.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { type Send, useEveryOperation } from '../support/every-operation.js';
import { PASSWORD } from '../support/factories.js';
import { seedMerchant } from '../support/seed.js';

/** The tests use the build, because the Swagger plugin works only there. */
/** The parts of the Postman collection that are used here. */
interface Collection {
  variable: { key: string; value: string }[];
  item: {
    request: { method: string; url: string; body?: { raw: string } };
    event: { script: { exec: string[] } }[];
  }[];
}

/** The codes of a live service. */
const CODES = Object.keys(PROBLEMS).filter((code) => code !== 'clock_backwards');

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
  const expectDocumented: Send = async (method, route, body, values = {}, query = '', headers = {}) => {
    const path = route.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '') + query;
    const answer = await (client ?? new Client(service)).send(method.toUpperCase(), path, { body, headers });
    seen.add(`${method} ${route}`);
    expect(contract.violations({ method, path, body, answer })).toEqual([]);
    return answer;
  };

  /** The operations of the document. */
  const operations = (): Operation[] => Object.values(document.paths).flatMap((methods) => Object.values(methods));

  it('the OpenAPI document describes the responses of every operation, including errors', async () => {
    await useEveryOperation(expectDocumented);
    expect(seen.size).toBe(operations().length);
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

  it('every error is a Problem, whose code selects its members, and each status of an operation has its own codes', () => {
    const { schemas, responses } = document.components;
    const { oneOf, discriminator } = schemas.Problem!;
    expect(Object.keys(discriminator!.mapping)).toEqual(CODES);
    expect(oneOf).toEqual(Object.values(discriminator!.mapping).map(($ref) => ({ $ref })));
    expect(responses.CommonProblem!.content['application/problem+json']!.schema).toEqual({
      $ref: '#/components/schemas/Problem',
    });
    const codesOf = ({ $ref = '', oneOf: several = [{ $ref }] }: Schema): unknown[] =>
      several.map((one) => schemas[one.$ref!.split('/').at(-1)!]!.properties!.code!.const);
    const media = operations().flatMap((operation) =>
      Object.values(operation.responses).flatMap(({ content }) => content?.['application/problem+json'] ?? []),
    );
    expect(media.length).toBeGreaterThan(operations().length);
    for (const { schema, examples } of media) expect(codesOf(schema)).toEqual(Object.keys(examples!));
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
    const ofCallers = new Set(
      ['CreateOrderItemDto', 'PaymentMethodDto', 'OrderItemDto', 'OrderPaymentMethodDto'].concat(
        'RefundItemDto',
        'ReturnedItemDto',
      ),
    );
    const isOfEvent = (schema: string): boolean => /Event$/.test(schema) || schema === 'WebhookAttemptDto';
    const isExact = (schema: string, member: string, { example, format, pattern }: Schema): boolean => {
      if (/external_id$|^(request_id|earn_rate|redeem_share|earn_rate_ceiling|redeem_share_ceiling)$/.test(member))
        return true;
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
  });

  it('the operations are in groups in the order of a sale, and those of an order in the order of their use', () => {
    const tags = document.tags.map(({ name }) => name);
    expect(tags).toEqual([
      ...['auth', 'quotes', 'orders', 'refunds', 'wallets', 'grants', 'debits', 'policy', 'campaigns', 'reports'],
      ...['events', 'webhooks', 'customers', 'users'],
    ]);
    expect(new Set(operations().flatMap((operation) => operation.tags))).toEqual(new Set(tags));
    const changes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(
        ([
          method,
          {
            operationId,
            tags: [tag],
          },
        ]) => (tag === 'orders' && method !== 'get' && path !== '/orders/search' ? [operationId] : []),
      ),
    );
    expect(changes).toEqual([
      ...['createOrder', 'amendOrder', 'holdRedemption', 'completeOrder', 'cancelOrder', 'changeCustomer'],
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
    expect([...codes].sort()).toEqual([...CODES].sort());
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

  it('a text or a list of a response has the limit of the same member of a request, and a page that of its limit', () => {
    const named = Object.values(document.components.schemas).map(({ properties = {}, additionalProperties }) => ({
      isRequest: additionalProperties === false,
      members: Object.entries(properties).filter(([, { format, enum: words }]) => !format && !words),
    }));
    const limitOf = ({ maxLength, maxItems }: Schema): number | undefined => maxLength ?? maxItems;
    const ofRequests = named.flatMap(({ isRequest, members }) => (isRequest ? members : []));
    const limits = new Map(ofRequests.filter(([name, schema]) => name !== 'data' && limitOf(schema)));
    const ofResponses = named.flatMap(({ isRequest, members }) => (isRequest ? [] : members));
    const limited = ofResponses.filter(([name, { type }]) => /string|array/.test(String(type)) && limits.has(name));
    expect(new Set(limited.map(([name]) => name))).toEqual(
      new Set(
        ['id', 'external_id', 'store', 'name', 'reason', 'note', 'description', 'url', 'types'].concat(
          'items',
          'payment_methods',
          'permissions',
        ),
      ),
    );
    expect(
      limited.filter(([name, schema]) => limitOf(schema)! < limitOf(limits.get(name)!)! || !limitOf(schema)),
    ).toEqual([]);
    const { EntryDto, OrderDto, EventPageDto, TopReportDto } = document.components.schemas;
    expect(EntryDto!.properties!.order_external_id!.maxLength).toBe(100);
    expect(OrderDto!.properties!.document!.maxLength).toBe(36);
    expect([EventPageDto, TopReportDto].map((page) => page!.properties!.data!.maxItems)).toEqual([100, 1000]);
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

  it('every required parameter has an example that its schema allows', () => {
    const all = Object.entries(document.paths).flatMap(([route, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters }]) =>
        parameters.flatMap(({ required, schema: { example } }, at) =>
          required === true ? [{ example, at: ['paths', route, method, 'parameters', String(at), 'schema'] }] : [],
        ),
      ),
    );
    expect(all.length).toBeGreaterThan(30);
    for (const { at, example } of all) expect({ at, errors: contract.errors(at, example) }).toEqual({ at, errors: [] });
  });

  it('a client repeats the parameter for each word of a list in a query, which is the default of OpenAPI', () => {
    const lists = operations()
      .flatMap(({ parameters = [] }) => parameters)
      .filter(({ schema }) => schema?.type === 'array');
    expect(lists.map(({ name, explode }) => [name, explode]).sort()).toEqual([
      ['kind', undefined],
      ['status', undefined],
      ['types', undefined],
    ]);
  });

  it('the Postman collection is a sale that runs as it is, from the login to the refund, and another one when it runs again', async () => {
    const { body } = await new Client(service).get<Collection>('/docs/postman.json');
    const variables = new Map(body.variable.map(({ key, value }) => [key, value]));
    variables.set('email', await seedMerchant(createDataSource(database.url))).set('password', PASSWORD);
    const fill = (text: string): string =>
      text.replace(/\{\{(.+?)\}\}/g, (_, name: string) => variables.get(name) ?? randomUUID());
    const statuses: number[] = [];
    for (const { request, event } of [...body.item, ...body.item]) {
      const client = new Client(service, variables.get('access_token'));
      const raw = request.body && fill(request.body.raw);
      const answer = await client.send(request.method, fill(request.url), { ...(raw && { raw }) });
      statuses.push(answer.status);
      const pm = {
        test: (_: string, check: () => void) => check(),
        expect: (code: number) => ({
          to: { be: { within: (least: number, most: number) => code >= least && code <= most } },
        }),
        response: { code: answer.status, json: () => answer.body },
        collectionVariables: { set: (name: string, value: string) => variables.set(name, value) },
      };
      for (const { script } of event) runInNewContext(script.exec.join('\n'), { pm });
    }
    const sale = [201, 201, 200, 201, 200, 200, 200, 200, 201, 200, 200, 200];
    expect(statuses).toEqual([...sale, ...sale]);
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
