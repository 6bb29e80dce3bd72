import { afterEach, describe, expect, it } from '@jest/globals';
import { ErasureService } from '../../src/orders/erasure.service.js';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aCreatedOrder, aMerchant, anOrder } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const METADATA = { store: 'SP-014', till: '3' };
const UNUSUAL = {
  ['__proto__']: 'a',
  constructor: 'b',
  '10': 'ten',
  '9': 'nine',
  _: '',
  '-.': 'Café "quoted" \\ \u0000 🎁',
  ['k'.repeat(40)]: '🎁'.repeat(500),
};
const CART = { total: '90.00', items: [{ id: 'sku-2', price: '90.00' }], payment_methods: [] };

const read = async ({ id }: { id: string }): Promise<any> => (await merchant.client.get(`/orders/${id}`)).body;
const amend = (order: { id: string }, metadata?: unknown): Promise<Answer> =>
  merchant.client.put(`/orders/${order.id}`, { ...CART, metadata });
const reversed = (metadata: object): object => Object.fromEntries(Object.entries(metadata).reverse());

function expectReplay(answer: Answer, body: unknown): void {
  expect(answer).toMatchObject({ status: 201, body });
  expect(answer.headers.get('idempotency-replayed')).toBe('true');
}

describe('the metadata of an order', () => {
  it.each([
    ['two members', METADATA],
    ['the longest keys and values, and names that objects inherit', UNUSUAL],
    ['20 members', Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`key-${at}`, String(at)]))],
  ])('POST /orders keeps %s, and every response with the order has them', async (_, metadata) => {
    const order = anOrder({ metadata });
    const { status, body } = await merchant.client.post('/orders', order);
    expect(status).toBe(201);
    expect(Object.entries(body.metadata as object).sort()).toEqual(Object.entries(metadata).sort());
    const { body: listed } = await merchant.client.get(`/orders?external_id=${order.external_id}`);
    const { body: named } = await merchant.client.get(`/orders/by-external-id/${order.external_id}`);
    // As text, because comparisons ignore the order of members.
    for (const answered of [
      await read(body),
      named,
      listed.data[0],
      (await merchant.client.post('/orders', order)).body,
    ])
      expect(JSON.stringify(answered.metadata)).toBe(JSON.stringify(body.metadata));
    const { body: completed } = await merchant.client.post(`/orders/${body.id}/complete`);
    expect(JSON.stringify(completed.metadata)).toBe(JSON.stringify(body.metadata));
  });

  it.each([undefined, null, {}])(
    'an order that is created with the metadata %j has {} and stores nothing',
    async (none) => {
      const order = await aCreatedOrder(merchant, { metadata: none });
      expect(order.metadata).toEqual({});
      expect((await read(order)).metadata).toEqual({});
      expect(await rowsOf(service, 'SELECT metadata FROM orders WHERE id = ?', [order.id])).toEqual([
        { metadata: null },
      ]);
    },
  );

  it.each([
    ['a text', 'store', 'must be an object of strings'],
    ['a number', 3, 'must be an object of strings'],
    ['a list', ['store'], 'must be an object of strings'],
    ['21 members', Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, ''])), 'at most 20 members'],
    ['an empty key', { '': 'x' }, 'keys of 1 to 40 characters'],
    ['a key of 41 characters', { ['k'.repeat(41)]: 'x' }, 'keys of 1 to 40 characters'],
    ['a key with a blank', { 'till 3': 'x' }, 'keys of 1 to 40 characters'],
    ['a key with an accent', { região: 'x' }, 'keys of 1 to 40 characters'],
    ['a key with a line break', { 'till\n': 'x' }, 'keys of 1 to 40 characters'],
    ['a number as a value', { store: 'SP-014', till: 3 }, 'has the member "till", which must be a string, in quotes'],
    ['null as a value', { till: null }, '"till", which must be a string of at most 500 characters'],
    ['an object as a value', { till: {} }, '"till", which must be a string of at most 500 characters'],
    ['a value of 501 characters', { till: 'x'.repeat(501) }, '"till", which has more than 500 characters'],
    ['a lone surrogate', { till: '\ud800' }, '"till", which must be valid Unicode'],
  ])('POST and PUT return 400 and change nothing when the metadata is %s', async (_, metadata, detail) => {
    const order = await aCreatedOrder(merchant, { metadata: METADATA });
    for (const answer of [
      await merchant.client.post('/orders', anOrder({ metadata })),
      await amend(order, metadata),
      await amend(order, metadata),
    ]) {
      expectProblem(answer, 400, 'validation_failed');
      expect(answer.body.errors).toEqual([{ pointer: '/metadata', detail: expect.stringContaining(detail) }]);
    }
    expect(await read(order)).toEqual(order);
  });

  it('GET /orders does not filter by metadata, and a quote has none', async () => {
    const answer = await merchant.client.get('/orders?metadata=SP-014');
    expectProblem(answer, 400, 'validation_failed');
    const quote = await merchant.client.post('/quotes', { total: '10.00' });
    expect([quote.status, quote.body]).toEqual([200, expect.not.objectContaining({ metadata: expect.anything() })]);
  });

  it('a page of GET /orders counts metadata towards its 1 MiB', async () => {
    const shop = await aMerchant(service);
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`key-${at}`, '🎁'.repeat(500)]));
    for (let orders = 0; orders < 30; orders++) await aCreatedOrder(shop, { metadata });
    const pages = await shop.client.pages('/orders?limit=100');
    expect(pages.flatMap(({ data }) => data)).toHaveLength(30);
    for (const page of pages) expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThanOrEqual(1024 * 1024);
    expect(pages.length).toBeGreaterThan(1);
  });
});

describe('the metadata of a repeated POST /orders', () => {
  it.each([METADATA, UNUSUAL])('POST /orders replays the metadata %j in any order of its members', async (metadata) => {
    const order = anOrder({ metadata });
    const { body } = await merchant.client.post('/orders', order);
    expectReplay(await merchant.client.post('/orders', { ...order, metadata: reversed(metadata) }), body);
  });

  it('POST /orders replays an order without metadata with null and with {}', async () => {
    const order = anOrder();
    const { body } = await merchant.client.post('/orders', order);
    for (const metadata of [null, {}])
      expectReplay(await merchant.client.post('/orders', { ...order, metadata }), body);
  });

  it.each([
    [undefined, ['/metadata/store', '/metadata/till']],
    [{}, ['/metadata/store', '/metadata/till']],
    [{ ...METADATA, till: '4' }, ['/metadata/till']],
    [{ store: 'SP-014' }, ['/metadata/till']],
    [{ ...METADATA, ['__proto__']: 'x' }, ['/metadata/__proto__']],
    [{ ...METADATA, constructor: '' }, ['/metadata/constructor']],
  ])(
    'POST /orders returns 409 with a pointer to each different member when the metadata is %j',
    async (metadata, pointers) => {
      const order = anOrder({ metadata: METADATA });
      const { body } = await merchant.client.post('/orders', order);
      for (const _attempt of ['first', 'second']) {
        const answer = await merchant.client.post('/orders', { ...order, metadata });
        expectProblem(answer, 409, 'external_id_conflict');
        expect(pointersOf(answer)).toEqual(pointers);
        expect(JSON.stringify(answer.body)).not.toContain('SP-014');
      }
      expect(await read(body)).toEqual(body);
    },
  );

  it('only one of 20 concurrent POST /orders requests with different metadata creates the order', async () => {
    const order = anOrder();
    const answers = await atOnce(20, (at) =>
      merchant.client.post('/orders', { ...order, metadata: { till: String(at) } }),
    );
    const [created, ...others] = answers.filter(({ status }) => status === 201);
    expect(others).toEqual([]);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expectProblem(answer, 409, 'external_id_conflict');
      expect(pointersOf(answer)).toEqual(['/metadata/till']);
    }
    expect(await read(created?.body)).toEqual(created?.body);
  });

  it('POST /orders creates an order of another merchant with its own metadata', async () => {
    const [order, other] = [anOrder({ metadata: METADATA }), await aMerchant(service)];
    await merchant.client.post('/orders', order);
    const { status, body } = await other.client.post('/orders', { ...order, metadata: { till: '4' } });
    expect({ status, body }).toMatchObject({ status: 201, body: { metadata: { till: '4' } } });
  });
});

describe('the metadata of an amended order', () => {
  it('PUT /orders/{id} replaces the metadata as a whole, and the same metadata again changes nothing', async () => {
    const order = await aCreatedOrder(merchant, { ...CART, metadata: METADATA });
    const { body } = await amend(order, { till: '4', shift: 'late' });
    expect(body).toMatchObject({ version: 2 });
    expect(body.metadata).toEqual({ till: '4', shift: 'late' });
    expect((await amend(order, { shift: 'late', till: '4' })).body).toEqual(body);
    expect(await read(order)).toEqual(body);
  });

  it.each([undefined, null, {}])('PUT /orders/{id} with the metadata %j removes it once', async (none) => {
    const order = await aCreatedOrder(merchant, { ...CART, metadata: METADATA });
    for (const _attempt of ['first', 'second'])
      expect((await amend(order, none)).body).toEqual({
        ...order,
        metadata: {},
        version: 2,
        updated_at: expect.any(String),
      });
    expect(await rowsOf(service, 'SELECT metadata FROM orders WHERE id = ?', [order.id])).toEqual([{ metadata: null }]);
  });

  it('POST /orders replays the first and the current metadata of an amended order', async () => {
    const order = anOrder({ ...CART, metadata: METADATA });
    const { body } = await merchant.client.post('/orders', order);
    await amend(body, { till: '4' });
    const { body: current } = await amend(body, { till: '5' });
    for (const metadata of [METADATA, { till: '5' }])
      expectReplay(await merchant.client.post('/orders', { ...order, metadata }), current);
    const between = await merchant.client.post('/orders', { ...order, metadata: { till: '4' } });
    expectProblem(between, 409, 'external_id_conflict');
    expect(pointersOf(between)).toEqual(['/metadata/till']);
  });

  it('a completed order keeps its metadata: PUT /orders/{id} returns 409', async () => {
    const order = await aCreatedOrder(merchant, { ...CART, metadata: METADATA });
    await merchant.client.post(`/orders/${order.id}/complete`);
    expectProblem(await amend(order, { till: '4' }), 409, 'invalid_transition');
    expect((await read(order)).metadata).toEqual(METADATA);
  });
});

describe('the metadata of an erased customer', () => {
  it('erasing a customer erases the metadata of its orders, which still replay', async () => {
    const [order, others] = [anOrder({ metadata: METADATA }), await aCreatedOrder(merchant, { metadata: METADATA })];
    const { body } = await merchant.client.post('/orders', order);
    const { pseudonym } = await service.app.get(ErasureService).erase(merchant.id, order.document);
    expect(await read(body)).toEqual({ ...body, document: pseudonym, metadata: {} });
    expectReplay(await merchant.client.post('/orders', order), { document: pseudonym, metadata: {} });
    expect(await read(others)).toEqual(others);
  });

  it('POST /orders returns 409 with a pointer to what differs from the order of an erased customer', async () => {
    const order = anOrder({ metadata: METADATA });
    await merchant.client.post('/orders', order);
    await service.app.get(ErasureService).erase(merchant.id, order.document);
    const conflict = async (members: object): Promise<string[]> => {
      const answer = await merchant.client.post('/orders', { ...order, ...members });
      expectProblem(answer, 409, 'external_id_conflict');
      return pointersOf(answer);
    };
    expect(await conflict({ total: '150.01' })).toEqual(['/total']);
    expect(await conflict({ metadata: { till: '4' } })).toContain('/metadata/till');
  });
});
