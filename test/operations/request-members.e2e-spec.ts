import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import { type OpenApi, type Schema, schemaOf } from '../support/contract.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { aDocument, anOrder } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import type { EndpointWithSecret, Members } from '../support/shop.js';

const { merchant } = useService();

const UNKNOWN_ID = '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10';

/** An operation on resources of its own, so that it can be sent for the first time and again. */
interface Scene {
  /** The path of the request. */
  path: string;
  /** A body with the required members only. */
  body: Members;
}

const { items, payment_methods, total } = anOrder({ items: [{ id: 'sku-1', price: '150.00' }] });
const cart = { items, total };
const onOrder = async (operation: string, body: Members): Promise<Scene> => {
  const { id } = await merchant.create();
  return { path: `/orders/${id}${operation}`, body };
};

/** Every operation that takes a body with optional members. */
const SCENES: Record<string, () => Promise<Scene> | Scene> = {
  'POST /orders': () => {
    const { external_id, document } = anOrder();
    return { path: '/orders', body: { ...cart, external_id, document } };
  },
  'PUT /orders/{id}': () => onOrder('', cart),
  'PUT /orders/{id}/redemption': () => onOrder('/redemption', { amount: '0.00' }),
  'POST /orders/{id}/complete': () => onOrder('/complete', {}),
  'POST /orders/{id}/cancel': () => onOrder('/cancel', {}),
  'POST /orders/{id}/refunds': async () => {
    const { id } = await merchant.completed();
    return { path: `/orders/${id}/refunds`, body: { external_id: 'DEV-1', items: [{ id: 'sku-1' }] } };
  },
  'POST /orders/{id}/refunds/{refund_id}/void': async () => {
    const order = await merchant.completed();
    const { id } = await merchant.refund(order, '10.00');
    return { path: `/orders/${order.id}/refunds/${id}/void`, body: {} };
  },
  'POST /orders/{id}/refunds/quote': async () => {
    const { id } = await merchant.completed();
    return { path: `/orders/${id}/refunds/quote`, body: { items: [{ id: 'sku-1' }] } };
  },
  'POST /quotes': () => ({ path: '/quotes', body: { total: '150.00' } }),
  'POST /orders/search': async () => {
    const { document } = await merchant.create();
    return { path: '/orders/search', body: { document } };
  },
  'POST /grants': () => ({
    path: '/grants',
    body: { external_id: aDocument(), document: aDocument(), amount: '5.00' },
  }),
  'POST /grants/{id}/void': async () => {
    const { id } = await merchant.grant();
    return { path: `/grants/${id}/void`, body: {} };
  },
  'PATCH /policy': () => Promise.resolve({ path: '/policy', body: { reason: 'December' } }),
  'POST /debits': async () => {
    const document = await merchant.customerWith('50.00');
    return { path: '/debits', body: { external_id: aDocument(), document, amount: '5.00', reason: 'Granted twice' } };
  },
  'POST /debits/{id}/void': async () => {
    const { id } = await merchant.debit({ document: await merchant.customerWith('50.00') });
    return { path: `/debits/${id}/void`, body: {} };
  },
  'PUT /webhook-endpoints/{id}': async () => {
    const content = { url: `https://shop.example/${aDocument()}` };
    const { body } = await merchant.client.post<EndpointWithSecret>('/webhook-endpoints', content);
    return { path: `/webhook-endpoints/${body.id}`, body: content };
  },
};

/** Its elements are those of POST /grants, each with a result of its own. */
const BATCH = 'POST /grants/batch';

/** The first has the body of the PUT, and its repeat is refused. The second one requires one of its two members. */
const EXCEPTIONS = ['POST /webhook-endpoints', 'POST /webhook-endpoints/{id}/seek', BATCH];

/** Optional only beside another one. */
const ONE_OF_SEVERAL = ['POST /orders/{id}/refunds items', 'POST /orders/{id}/refunds/quote items'];

/** A minimal element of each list. */
const ELEMENTS: Members = { items: (items as object[])[0], payment_methods: (payment_methods as object[])[0] };

/** The operations of the OpenAPI document that take a body, each with the schema of the body. */
function bodies(): [operation: string, schema: Schema][] {
  // Only the document of the build has all members.
  const document = JSON.parse(readFileSync('dist/openapi.json', 'utf8')) as OpenApi;
  const resolve = (schema: Schema): Schema => {
    if (schema.$ref !== undefined) return resolve(schemaOf(document, schema.$ref));
    if (schema.items !== undefined) return { ...schema, items: resolve(schema.items) };
    const properties = Object.entries(schema.properties ?? {}).map(
      ([name, member]) => [name, resolve(member)] as const,
    );
    return { ...schema, properties: Object.fromEntries(properties) };
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]): [string, Schema][] =>
      requestBody
        ? [[`${method.toUpperCase()} ${path}`, resolve(requestBody.content['application/json']!.schema)]]
        : [],
    ),
  );
}

/** The optional members of a schema, such as `eligible_total` and `items[].quantity`. */
function optionalMembers({ properties = {}, required = [] }: Schema): string[] {
  return Object.entries(properties).flatMap(([name, member]) => [
    ...(required.includes(name) ? [] : [name]),
    ...(member.items?.properties ? optionalMembers(member.items).map((nested) => `${name}[].${nested}`) : []),
  ]);
}

const OPTIONAL = bodies()
  .flatMap(([operation, schema]) =>
    EXCEPTIONS.includes(operation)
      ? []
      : optionalMembers(schema).map((member): [string, string] => [operation, member]),
  )
  .filter(([operation, member]) => !ONE_OF_SEVERAL.includes(`${operation} ${member}`));

/** Returns the body with a value for the member. In a list, the first element gets it. */
function withMember(body: Members, member: string, value: unknown): Members {
  const [list = '', nested] = member.split('[].');
  if (nested === undefined) return { ...body, [member]: value };
  const [first, ...rest] = (body[list] ?? [ELEMENTS[list]]) as Members[];
  return { ...body, [list]: [withMember(first!, nested, value), ...rest] };
}

async function inScene(operation: string): Promise<{ body: Members; send: (body: Members) => Promise<Answer> }> {
  const scene = SCENES[operation];
  if (scene === undefined) throw new Error(`${operation} has optional members: add it to SCENES`);
  const { path, body } = await scene();
  return { body, send: (sent) => merchant.client.send(operation.split(' ')[0] ?? '', path, { body: sent }) };
}

describe('optional members that are null', () => {
  it.each(OPTIONAL)(
    '%s with null for %s is the same as without it, first and when it is repeated',
    async (operation, member) => {
      for (const isNullFirst of [true, false]) {
        const { body, send } = await inScene(operation);
        const withNull = withMember(body, member, null);
        const without = member.includes('[]') ? withMember(body, member, undefined) : body;
        const first = await send(isNullFirst ? withNull : without);
        expect({ ok: first.status < 300, body: first.body }).toMatchObject({ ok: true });
        for (const again of [without, withNull])
          expect(await send(again)).toMatchObject({ status: first.status, body: first.body });
      }
    },
  );

  it.each([...new Set(OPTIONAL.map(([operation]) => operation))])(
    '%s with null for all optional members is the same as without them',
    async (operation) => {
      const members = OPTIONAL.flatMap(([of, member]) => (of === operation ? [member] : []));
      const { body, send } = await inScene(operation);
      // A list that is null has no elements.
      const nulls = members.filter(
        (member) => !members.includes(member.split('[]')[0] ?? '') || !member.includes('[]'),
      );
      const first = await send(nulls.reduce((sent, member) => withMember(sent, member, null), body));
      expect({ ok: first.status < 300, body: first.body }).toMatchObject({ ok: true });
      expect(await send(body)).toMatchObject({ status: first.status, body: first.body });
    },
  );
});

describe('members that are not part of a request', () => {
  it.each(bodies())('%s refuses unknown members, also in the elements of lists', async (operation, schema) => {
    const members = operation === BATCH ? [] : Object.entries(schema.properties!);
    const lists = members.flatMap(([name, { items }]) => (items?.type === 'object' ? [name] : []));
    const [method = '', template = ''] = operation.split(' ');
    const answer = await merchant.client.send(method, template.replace(/{\w+}/g, UNKNOWN_ID), {
      body: { ...Object.fromEntries(lists.map((name) => [name, [ELEMENTS[name], { 'x/y~z': 1 }]])), unexpected: null },
    });
    expectProblem(answer, 400, 'validation_failed');
    const expected = ['/unexpected', ...lists.map((name) => `/${name}/1/x~1y~0z`)];
    expect(pointersOf(answer)).toEqual(expect.arrayContaining(expected));
    const details = answer.body.errors.filter(({ pointer }) => expected.includes(pointer));
    expect(new Set(details.map(({ detail }) => detail))).toEqual(new Set(['is not a member of this request']));
  });

  it('PUT /orders/{id} refuses the members of a response, and changes nothing', async () => {
    const order = await merchant.create();
    await merchant
      .amend(order, order)
      .refused(400, 'validation_failed', [
        '/amount_to_pay',
        '/campaign_id',
        '/cancel_reason',
        '/cancelled_at',
        '/cancelled_by',
        '/cashback',
        '/completed_at',
        '/completed_by',
        '/created_at',
        '/created_by',
        '/customer_change_reason',
        '/customer_changed_at',
        '/customer_changed_by',
        '/expires_at',
        '/id',
        '/operations',
        '/payment_methods/0/earn_rate',
        '/refunded',
        '/sold_at',
        '/status',
        '/updated_at',
        '/version',
      ]);
    expect(await merchant.order(order)).toEqual(order);
  });
});
