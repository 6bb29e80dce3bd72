import { afterEach, describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aMerchant, anOrder } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';
import { oneAtOnce, type Order, type Call } from '../support/shop.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const METADATA = { store: 'SP-014', till: '3' };
const UNUSUAL = {
  ['__proto__']: 'a',
  constructor: 'b',
  '10': 'ten',
  '9': 'nine',
  _: '',
  '-.': ' Café\n\t"quoted" \\ \u202e 👩\u200d💻 ',
  ['k'.repeat(40)]: '🎁'.repeat(500),
};
const CART = { total: '90.00', items: [{ id: 'sku-2', price: '90.00' }], payment_methods: [] };

const amend = (order: { id: string }, metadata?: unknown) => merchant.amend(order, { ...CART, metadata });
const reversed = (metadata: object): object => Object.fromEntries(Object.entries(metadata).reverse());

function expectReplay(answer: Answer<unknown>, body: unknown): void {
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
    const body = await merchant.create(order);
    expect(Object.entries(body.metadata as object).sort()).toEqual(Object.entries(metadata).sort());
    const listed = await merchant.orders(`external_id=${order.external_id}`);
    const { body: named } = await merchant.client.get(`/orders/by-external-id/${order.external_id}`);
    // As text, because comparisons ignore the order of members.
    for (const answered of [await merchant.order(body), named, listed.data[0], await merchant.create(order)])
      expect(JSON.stringify(answered!.metadata)).toBe(JSON.stringify(body.metadata));
    const completed = await merchant.complete(body);
    expect(JSON.stringify(completed.metadata)).toBe(JSON.stringify(body.metadata));
  });

  it.each([undefined, null, {}])(
    'an order that is created with the metadata %j has {} and stores nothing',
    async (none) => {
      const order = await merchant.create({ metadata: none });
      expect(order.metadata).toEqual({});
      expect((await merchant.order(order)).metadata).toEqual({});
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
    ['a NUL', { till: 'a\0' }, '"till", which must not have control characters (U+0000)'],
    ['a lone surrogate', { till: '\ud800' }, '"till", which must be valid Unicode'],
  ])('POST and PUT return 400 and change nothing when the metadata is %s', async (_, metadata, detail) => {
    const order = await merchant.create({ metadata: METADATA });
    for (const answer of [
      await merchant.create({ metadata }).answer,
      await amend(order, metadata).answer,
      await amend(order, metadata).answer,
    ]) {
      const { errors } = expectProblem(answer, 400, 'validation_failed');
      expect(errors).toEqual([{ pointer: '/metadata', detail: expect.stringContaining(detail) }]);
    }
    expect(await merchant.order(order)).toEqual(order);
  });

  it('GET /orders does not filter by metadata, and a quote has none', async () => {
    await merchant.orders('metadata=SP-014').refused(400, 'validation_failed');
    const quote = await merchant.quote({ total: '10.00' }).answer;
    expect([quote.status, quote.body]).toEqual([200, expect.not.objectContaining({ metadata: expect.anything() })]);
  });

  it('a page of GET /orders counts metadata towards its 1 MiB', async () => {
    const shop = await aMerchant(service);
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`key-${at}`, '🎁'.repeat(500)]));
    for (let orders = 0; orders < 30; orders++) await shop.create({ metadata });
    const pages = await shop.client.pages('/orders?limit=100');
    expect(pages.flatMap(({ data }) => data)).toHaveLength(30);
    for (const page of pages) expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThanOrEqual(1024 * 1024);
    expect(pages.length).toBeGreaterThan(1);
  });
});

describe('the metadata of a repeated POST /orders', () => {
  it.each([METADATA, UNUSUAL])('POST /orders replays the metadata %j in any order of its members', async (metadata) => {
    const order = anOrder({ metadata });
    const body = await merchant.create(order);
    expectReplay(await merchant.create({ ...order, metadata: reversed(metadata) }).answer, body);
  });

  it('POST /orders replays an order without metadata with null and with {}', async () => {
    const order = anOrder();
    const body = await merchant.create(order);
    for (const metadata of [null, {}]) expectReplay(await merchant.create({ ...order, metadata }).answer, body);
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
      const body = await merchant.create(order);
      for (const _attempt of ['first', 'second']) {
        const problem = await merchant.create({ ...order, metadata }).refused(409, 'external_id_conflict', pointers);
        expect(JSON.stringify(problem)).not.toContain('SP-014');
      }
      expect(await merchant.order(body)).toEqual(body);
    },
  );

  it('only one of 20 concurrent POST /orders requests with different metadata creates the order', async () => {
    const order = anOrder();
    const send = (at: number): Call<Order> => merchant.create({ ...order, metadata: { till: String(at) } });
    const errors = [expect.objectContaining({ pointer: '/metadata/till' })];
    const created = await oneAtOnce(20, send, 409, { code: 'external_id_conflict', errors });
    expect(await merchant.order(created)).toEqual(created);
  });

  it('POST /orders creates an order of another merchant with its own metadata', async () => {
    const [order, other] = [anOrder({ metadata: METADATA }), await aMerchant(service)];
    await merchant.create(order);
    const body = await other.create({ ...order, metadata: { till: '4' } });
    expect(body).toMatchObject({ metadata: { till: '4' } });
  });
});

describe('the metadata of an amended order', () => {
  it('PUT /orders/{id} replaces the metadata as a whole, and the same metadata again changes nothing', async () => {
    const order = await merchant.create({ ...CART, metadata: METADATA });
    const { body } = await amend(order, { till: '4', shift: 'late' }).answer;
    expect(body).toMatchObject({ version: 2 });
    expect(body.metadata).toEqual({ till: '4', shift: 'late' });
    expect(await amend(order, { shift: 'late', till: '4' })).toEqual(body);
    expect(await merchant.order(order)).toEqual(body);
  });

  it.each([undefined, null, {}])('PUT /orders/{id} with the metadata %j removes it once', async (none) => {
    const order = await merchant.create({ ...CART, metadata: METADATA });
    for (const _attempt of ['first', 'second'])
      expect(await amend(order, none)).toEqual({
        ...order,
        metadata: {},
        version: 2,
        updated_at: expect.any(String),
      });
    expect(await rowsOf(service, 'SELECT metadata FROM orders WHERE id = ?', [order.id])).toEqual([{ metadata: null }]);
  });

  it('POST /orders replays the first and the current metadata of an amended order', async () => {
    const order = anOrder({ ...CART, metadata: METADATA });
    const body = await merchant.create(order);
    await amend(body, { till: '4' });
    const { body: current } = await amend(body, { till: '5' }).answer;
    for (const metadata of [METADATA, { till: '5' }])
      expectReplay(await merchant.create({ ...order, metadata }).answer, current);
    await merchant
      .create({ ...order, metadata: { till: '4' } })
      .refused(409, 'external_id_conflict', ['/metadata/till']);
  });

  it('a completed order keeps its metadata: PUT /orders/{id} returns 409', async () => {
    const order = await merchant.create({ ...CART, metadata: METADATA });
    await merchant.complete(order);
    await amend(order, { till: '4' }).refused(409, 'invalid_transition');
    expect((await merchant.order(order)).metadata).toEqual(METADATA);
  });
});

describe('the metadata of an erased customer', () => {
  it('erasing a customer erases the metadata of its orders, which still replay', async () => {
    const [order, others] = [anOrder({ metadata: METADATA }), await merchant.create({ metadata: METADATA })];
    const body = await merchant.create(order);
    const { pseudonym } = await merchant.erase(order.document);
    expect(await merchant.order(body)).toEqual({ ...body, document: pseudonym, metadata: {} });
    expectReplay(await merchant.create(order).answer, { document: pseudonym, metadata: {} });
    expect(await merchant.order(others)).toEqual(others);
  });

  it('POST /orders returns 409 with a pointer to what differs from the order of an erased customer', async () => {
    const order = anOrder({ metadata: METADATA });
    await merchant.create(order);
    await merchant.erase(order.document);
    const conflict = async (members: object): Promise<string[]> => {
      const problem = await merchant.create({ ...order, ...members }).refused(409, 'external_id_conflict');
      return pointersOf(problem);
    };
    expect(await conflict({ total: '150.01' })).toEqual(['/total']);
    expect(await conflict({ metadata: { till: '4' } })).toContain('/metadata/till');
  });
});
