import { readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import type { TriedRequest } from '../../src/platform/openapi/swagger-ui.js';
import { type Answer, Client } from '../support/client.js';
import { type OpenApi, type Schema, schemaOf } from '../support/contract.js';
import { aMerchant, aUser } from '../support/factories.js';
import type { Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

/** The document of the build: only there the examples in comments are part of it. */
const document = (): OpenApi => JSON.parse(readFileSync('dist/openapi.json', 'utf8')) as OpenApi;

/** The example of a schema, built from its members like Swagger UI does. */
function exampleOf(schema: Schema): unknown {
  if (schema.$ref !== undefined) return exampleOf(schemaOf(document(), schema.$ref));
  if (schema.example !== undefined) return schema.example;
  if (schema.allOf !== undefined) return exampleOf(schema.allOf[0]!);
  if (schema.type === 'array') return [exampleOf(schema.items!)];
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, property]) => [name, exampleOf(property)]),
  );
}

/** The function that Swagger UI of the running service calls before it sends a request. */
async function requestInterceptor(): Promise<(request: TriedRequest) => TriedRequest> {
  const { body: script } = await new Client(service).get<string>('/docs/swagger-ui-init.js');
  let options!: { url: string; requestInterceptor: (request: TriedRequest) => TriedRequest };
  const SwaggerUIBundle = (given: typeof options): void => void (options = given);
  const location = new URL(`${service.url}/docs`);
  runInContext(script, createContext({ SwaggerUIBundle, location, URL }));
  expect(options.url).toBe(`${service.url}/docs-json`);
  return options.requestInterceptor;
}

/** The example of a request, as Swagger UI shows it. */
const requestOf = (method: string, path: string) =>
  document().paths[path]![method]!.requestBody!.content['application/json']!.example as Record<string, string>;

describe('the examples of the OpenAPI document', () => {
  /** Executes an operation like "Try it out" does, with its example as it stands. */
  async function execute(method: string, path: string, id?: string, refundId?: string): Promise<Answer> {
    const intercept = await requestInterceptor();
    const url = `https://cashback.invalid${path.replace('{id}', id ?? '').replace('{refund_id}', refundId ?? '')}`;
    const tried = intercept({ url, method: method.toUpperCase(), body: JSON.stringify(requestOf(method, path)) });
    expect(new URL(tried.url).origin).toBe(service.url);
    return merchant.client.send(tried.method, new URL(tried.url).pathname, { raw: tried.body as string });
  }

  it('every example of a request succeeds when it is executed in order on the demo data', async () => {
    const { document: customer } = requestOf('post', '/orders');
    await merchant.credit(customer!, '80.00');
    const created = await execute('post', '/orders');
    const { id } = created.body;
    const answers = [
      created,
      await execute('put', '/orders/{id}', id),
      await execute('put', '/orders/{id}/redemption', id),
      await execute('post', '/orders/{id}/complete', id),
      await execute('post', '/orders/{id}/refunds', id),
      await execute('post', '/quotes'),
      await execute('post', '/orders/search'),
      await execute('post', '/wallets/search'),
      await execute('post', '/grants'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 201, 200, 200, 200, 201]);
    // The example of the order is completed, so another one is cancelled.
    const cancelled = await execute('post', '/orders/{id}/cancel', (await merchant.create()).id);
    const batch = await execute('post', '/grants/batch');
    const voided = await execute('post', '/grants/{id}/void', answers.at(-1)!.body.id);
    expect([cancelled, batch, voided].map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(batch.body.data).toMatchObject([{ problem: null }]);
    const debited = await execute('post', '/debits');
    const restored = await execute('post', '/debits/{id}/void', debited.body.id);
    const undone = await execute('post', '/orders/{id}/refunds/{refund_id}/void', id, answers[4]!.body.id);
    const frozen = await execute('put', '/wallets/{id}/freeze', answers[7]!.body.id);
    expect([debited, restored, undone, frozen].map(({ status }) => status)).toEqual([201, 200, 200, 200]);
    expect(restored.body).toMatchObject({ void_reason: requestOf('post', '/debits/{id}/void').reason });
    expect(undone.body).toMatchObject({
      void_reason: requestOf('post', '/orders/{id}/refunds/{refund_id}/void').reason,
    });
    expect(frozen.body).toMatchObject({ freeze_reason: requestOf('put', '/wallets/{id}/freeze').reason });
    expect(cancelled.body).toMatchObject({ cancel_reason: requestOf('post', '/orders/{id}/cancel').reason });
    expect(voided.body).toMatchObject({ void_reason: requestOf('post', '/grants/{id}/void').reason });
    expect(answers[3]?.body).toMatchObject({ status: 'completed', cashback: { to_redeem: { redeemed: '20.00' } } });
    const login = requestOf('post', '/auth/login');
    for (const value of [login.email, login.password, customer])
      expect(readFileSync('tools/demo.mjs', 'utf8')).toContain(`= '${value}';`);
  });

  it('no example has what passes or depends on earlier requests: an instant, a day, or a version', () => {
    for (const methods of Object.values(document().paths))
      for (const { requestBody, parameters } of Object.values(methods)) {
        const example = JSON.stringify(requestBody?.content['application/json']!.example ?? {});
        expect(example).not.toMatch(/expires_|available_|\d{4}-\d\d-\d\dT/);
        const prefilled = parameters
          .filter((parameter) => parameter.in !== 'path')
          .filter((parameter) => 'example' in { ...parameter, ...parameter.schema });
        // Importers make values of their own for parameters without an example. `If-Match: *` fits any order. Optional
        // filters have none: Swagger UI would send it, and the list would be empty.
        const fits = ['limit', 'If-Match'];
        expect(
          prefilled.filter(({ name, required, schema }) => !required && !fits.includes(name) && !('const' in schema)),
        ).toEqual([]);
      }
  });

  it('Try it out creates the example order, repeats it at the second click, and creates another one on a new page', async () => {
    const { id: merchantId } = await aMerchant(service);
    const another = await aUser(service, merchantId, PERMISSIONS, 'Caixa 3');
    const { document: customer } = requestOf('post', '/orders');
    await another.credit(customer!, '80.00');
    const clicks: Answer<Order>[] = [];
    for (const intercept of [await requestInterceptor(), await requestInterceptor()])
      for (let click = 1; click <= 2; click++) {
        const body = JSON.stringify(requestOf('post', '/orders'));
        const tried = intercept({ url: '/orders', method: 'POST', body });
        clicks.push(await another.client.send<Order>('POST', '/orders', { raw: tried.body as string }));
      }
    const replays = clicks.map(({ status, headers }) => [status, headers.get('idempotency-replayed')]);
    expect(replays).toEqual(
      [1, 2].flatMap(() => [
        [201, null],
        [201, 'true'],
      ]),
    );
    const [first, repeat, other, again] = clicks.map(({ body }) => body);
    expect([repeat, again]).toEqual([first, other]);
    expect(other!.id).not.toBe(first!.id);
    // IDs, instants and days differ, and so does the suffix of the external ID.
    const masked = (order: object): unknown =>
      JSON.parse(
        JSON.stringify(order, (name, value: unknown) =>
          typeof value === 'string' &&
          (/^\d{4}-\d\d-\d\d/.test(value) || name === 'external_id' || /^(user_)?id$/.test(name))
            ? value.replace(/^\d{4}-\d\d-\d\d.*|^[0-9a-f]{8}-.*|-\w+$/, '')
            : value,
        ),
      );
    const example = exampleOf({ $ref: '#/components/schemas/OrderDto' }) as Order;
    expect(masked(first!)).toEqual(masked({ ...example, external_id: `${example.external_id}-suffix` }));
  });

  it('the example of an erasure is not about the customer of any other example, who would be gone', () => {
    const { document: erased } = requestOf('post', '/customers/erase');
    const others = Object.entries(document().paths)
      .filter(([path]) => path !== '/customers/erase')
      .flatMap(([, methods]) => Object.values(methods));
    expect(others.filter(({ requestBody }) => JSON.stringify(requestBody ?? {}).includes(erased!))).toEqual([]);
  });

  it('Try it out does not change an external_id that the reader typed', async () => {
    const intercept = await requestInterceptor();
    const body = JSON.stringify({ external_id: 'PED-1001-mine' });
    expect(intercept({ url: '/orders', method: 'POST', body }).body).toBe(body);
    expect(intercept({ url: '/orders?limit=1', method: 'GET' })).toEqual({
      url: `${service.url}/orders?limit=1`,
      method: 'GET',
    });
  });

  it('the document names its server, its token format and the enums', async () => {
    const { body } = await new Client(service).get('/docs-json');
    expect(body.servers).toEqual([{ url: 'http://localhost:0' }]);
    expect(document().servers).toEqual([{ url: 'https://cashback.invalid' }]);
    expect(body.components).toMatchObject({
      securitySchemes: { bearer: { scheme: 'bearer', bearerFormat: 'opaque' } },
    });
    expect(Object.keys(document().components.schemas)).toEqual(
      expect.arrayContaining(['OrderStatus', 'ToReceiveStatus', 'EntryKind', 'NextAction']),
    );
  });
});
