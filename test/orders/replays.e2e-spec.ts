import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectCreation, expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aMerchant, anOrder, PASSWORD } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { type Tokens } from '../support/shop.js';
import { useMerchant } from '../support/use-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });

describe('replays after a change of the secret', () => {
  const merchant = useMerchant(() => aMerchant(service));

  const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();
  const CART = {
    total: '90.00',
    items: [{ id: 'sku-2', price: '90.00' }],
    payment_methods: [{ id: 'pix', amount: '90.00' }],
  };

  describe('POST /orders after JWT_SECRET changed and the old secret left JWT_SECRET_PREVIOUS', () => {
    let changed: BuiltService;
    let client: Client;

    beforeAll(async () => {
      changed = await startBuiltService(service.databaseUrl, { JWT_SECRET: 'the-secret-after-the-change-9876543210' });
      const { body } = await new Client(changed).post<Tokens>('/auth/login', {
        email: merchant.email,
        password: PASSWORD,
      });
      client = new Client(changed, body.access_token);
    });
    afterAll(() => changed?.stop());

    const expectReplay = (again: Answer<unknown>, body: unknown): void => {
      expect(again).toMatchObject({ status: 201, body });
      expect(again.headers.get('idempotency-replayed')).toBe('true');
    };

    it.each([
      ['without expires_at', undefined],
      ['with expires_at', inMinutes(60)],
    ])('POST /orders %s replays the first content of an order whose expiry has moved', async (_, expires_at) => {
      const order = anOrder({ expires_at });
      const body = await merchant.create(order);
      const moved = { amount: '0.00', expires_at: inMinutes(120) };
      const { body: current } = await merchant.client.put(`/orders/${body.id}/redemption`, moved);
      expectReplay(await client.post('/orders', order), current);
      const other = await client.post('/orders', { ...order, expires_at: inMinutes(90) });
      expectProblem(other, 409, 'external_id_conflict');
      expect(pointersOf(other)).toEqual(['/expires_at']);
    });

    it('POST /orders replays the current content of an amended order, and returns 409 for its first content', async () => {
      const order = anOrder({ expires_at: inMinutes(60) });
      const body = await merchant.create(order);
      const current = await merchant.amend(body, CART);
      expectReplay(await client.post('/orders', { ...order, ...CART }), current);
      expectProblem(await client.post('/orders', order), 409, 'external_id_conflict');
    });

    it('POST /orders returns 409 for the content of an order whose customer was erased', async () => {
      const order = anOrder();
      await merchant.create(order);
      await merchant.erase(order.document);
      await merchant.create(order);
      const answer = await client.post('/orders', order);
      expectProblem(answer, 409, 'external_id_conflict');
      expect(pointersOf(answer)).toEqual(['/document']);
    });
  });
});

describe('a repeated POST /orders', () => {
  it('POST /orders replays an order whose JSON text has escaped letters', async () => {
    const order = anOrder({ external_id: `café-${Date.now()}` });
    const body = await merchant.create(order);
    const raw = JSON.stringify(order).replaceAll('é', String.raw`\u00e9`);
    expect(await merchant.client.send('POST', '/orders', { raw })).toMatchObject({ status: 201, body });
  });

  it('POST /orders with an eligible total replays with the same one and returns 409 without it', async () => {
    const order = anOrder({ eligible_total: '100' });
    const first = await merchant.create(order).answer;
    expect(await merchant.create({ ...order, eligible_total: '100.00' }).replayed()).toMatchObject(first.body);
    await merchant
      .create({ ...order, eligible_total: undefined })
      .refused(409, 'external_id_conflict', ['/eligible_total']);
  });
});

describe('the comparison of external_id', () => {
  // Some database collation treats each of these IDs as equal to another one.
  it('POST /orders treats IDs that differ in case, accent, spaces, normal form, width, or look as different', async () => {
    const ids = [
      'Pedido-é',
      'pedido-é',
      'PEDIDO-É',
      'Pedido-e',
      'Pedido-e\u0301',
      'Pedido -é',
      'Pedido  -é',
      'Pedido-\uff45\u0301',
      'straße',
      'strasse',
      'ﬁm',
      'fim',
      'ı',
      'i',
      'İ',
      'I',
      'К',
      'K',
      '🍕',
      '🍔',
      '👩',
      '👩🏽',
      '0',
      '00',
      'æ',
      'ae',
    ];
    const answers = await atOnce(ids.length, (index) => merchant.create({ external_id: ids[index] }).answer);
    answers.forEach(expectCreation);
    expect(answers.map(({ body }) => body.external_id)).toEqual(ids);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(ids.length);
  });

  it.each([
    ['100 emoji', '🧾'.repeat(100)],
    ['text from a database error message', "x' for key 'orders.uq_other"],
    ['quotes and backslashes', String.raw`\'"--\\ %_ ;`],
  ])('POST /orders can be replayed when its external_id contains %s', async (_what, externalId) => {
    const order = anOrder({ external_id: externalId });
    const body = await merchant.create(order);
    const again = await merchant.create(order).answer;
    expect(again).toMatchObject({ status: 201, body });
    const listed = await merchant.orders(`external_id=${encodeURIComponent(externalId)}`).answer;
    expect(listed.body.data).toEqual([body]);
  });
});

describe('the version of an order', () => {
  it('the version starts at 1 and grows by 1 with each change, and updated_at is the instant of the change', async () => {
    const order = await merchant.orderWith('80.00');
    expect(order).toMatchObject({ version: 1, updated_at: order.created_at });
    const seen = [order];
    for (const change of [
      () => merchant.hold(order, '20.00'),
      () => merchant.complete(order),
      () => merchant.refund(order, '10.00'),
      () => merchant.refund(order, '140.00'),
    ]) {
      await service.clock.advance({ seconds: 1 });
      await change();
      seen.push(await merchant.order(order));
    }
    expect(seen.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5]);
    const instants = seen.map(({ updated_at }) => updated_at);
    expect(instants).toEqual([...new Set(instants)].sort());
    expect(seen[2]!.updated_at).toBe(seen[2]!.completed_at);
  });
});

describe('metadata', () => {
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
      expect(await rowsOf(service, 'SELECT metadata FROM orders WHERE id = ?', [order.id])).toEqual([
        { metadata: null },
      ]);
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
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
