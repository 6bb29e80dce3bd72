import { readFileSync } from 'node:fs';
import { createContext, runInContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import type { TriedRequest } from '../../src/openapi/swagger-ui.js';
import { Client } from '../support/client.js';
import { grant } from '../support/factories.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

/** The document of the build: only there the examples in comments are part of it. */
const document = (): any => JSON.parse(readFileSync('dist/openapi.json', 'utf8'));

/** The example of a schema, built from its members like Swagger UI does. */
function exampleOf(schema: any): any {
  if (schema.$ref !== undefined) return exampleOf(document().components.schemas[schema.$ref.split('/').at(-1)]);
  if (schema.example !== undefined) return schema.example;
  if (schema.allOf !== undefined) return exampleOf(schema.allOf[0]);
  if (schema.type === 'array') return [exampleOf(schema.items)];
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, property]) => [name, exampleOf(property)]),
  );
}

const named = (name: string): any => exampleOf({ $ref: `#/components/schemas/${name}` });

/** The function that Swagger UI of the running service calls before it sends a request. */
async function requestInterceptor(): Promise<(request: TriedRequest) => TriedRequest> {
  const { body: script } = await new Client(service).get('/docs/swagger-ui-init.js');
  let options: any;
  const bundle = Object.assign(
    (given: object) => {
      options = given;
      return { initOAuth: () => undefined };
    },
    { presets: { apis: [] }, plugins: {} },
  );
  const window: any = { location: new URL(service.url) };
  const page = { window, SwaggerUIBundle: bundle, SwaggerUIStandalonePreset: [], location: window.location, URL };
  runInContext(`${script as string}\nwindow.onload();`, createContext(page));
  return options.requestInterceptor;
}

describe('the examples of the OpenAPI document', () => {
  it('Try it out sends the example order twice and creates two orders, each like the example of the response', async () => {
    await grant(service, merchant, named('CreateOrderDto').document, '80.00');
    const intercept = await requestInterceptor();
    const created: any[] = [];
    for (let click = 1; click <= 2; click++) {
      const example = { ...named('CreateOrderDto'), expires_at: '2020-01-01T00:00:00.000Z' };
      const { url, body } = intercept({
        url: 'https://cashback.invalid/orders',
        method: 'POST',
        body: JSON.stringify(example),
      });
      expect(url).toBe(`${service.url}/orders`);
      const answer = await merchant.client.send('POST', new URL(url).pathname, { raw: body as string });
      expect({
        status: answer.status,
        replayed: answer.headers.get('idempotency-replayed'),
        body: answer.body,
      }).toMatchObject({ status: 201, replayed: null });
      created.push(answer.body);
    }
    expect(created[0].id).not.toBe(created[1].id);
    // An ID, an instant and a day differ, and so does the suffix of the external ID.
    const masked = (order: object): object =>
      JSON.parse(
        JSON.stringify(order, (name, value: unknown) =>
          typeof value === 'string' && (/^\d{4}-\d\d-\d\d/.test(value) || name === 'id' || name === 'external_id')
            ? value.replace(/^\d{4}-\d\d-\d\d.*|^[0-9a-f]{8}-.*|-\w+$/, '')
            : value,
        ),
      );
    const example = named('OrderDto');
    expect(masked(created[0])).toEqual(masked({ ...example, external_id: `${example.external_id}-suffix` }));
  });

  it('Try it out does not change an external_id or a date that the reader typed', async () => {
    const intercept = await requestInterceptor();
    const body = JSON.stringify({ external_id: 'PED-1001-mine', expires_at: '9999-01-01T00:00:00.000Z' });
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
    expect(body.components.securitySchemes.bearer).toMatchObject({ scheme: 'bearer', bearerFormat: 'opaque' });
    expect(Object.keys(document().components.schemas)).toEqual(
      expect.arrayContaining(['OrderStatus', 'ToReceiveStatus', 'EntryKind', 'NextAction']),
    );
  });
});
