import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { expectCreation, expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aDocument, anOrder } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();

const countOrders = async (externalId: string, shop = merchant): Promise<number> => {
  const [row] = await rowsOf(
    service,
    'SELECT COUNT(*) AS number FROM orders WHERE merchant_id = ? AND external_id = ?',
    [shop.id, Buffer.from(externalId)],
  );
  return Number(row!.number);
};

const TWO_ITEMS = {
  total: '150.00',
  items: [
    { id: 'sku-1', price: '100.00', description: 'Café' },
    { id: 'sku-2', price: '50.00' },
  ],
  payment_methods: [
    { id: 'credit_card', amount: '100.00' },
    { id: 'pix', amount: '50.00' },
  ],
};

describe('a repeated POST /orders', () => {
  it('a repeated POST /orders returns 201 with the same order and Idempotency-Replayed: true', async () => {
    const order = anOrder();
    const first = await merchant.create(order).answer;
    expectCreation(first);
    for (const _attempt of ['second', 'third']) {
      expect(await merchant.create(order).replayed()).toMatchObject(first.body);
    }
    expect(await countOrders(order.external_id)).toBe(1);
  });

  it.each([
    [
      'amounts in another notation',
      {
        total: '150',
        items: [
          { id: 'sku-1', price: '100', description: 'Café' },
          { id: 'sku-2', price: '50.0' },
        ],
      },
    ],
    ['an eligible total that equals the total', { eligible_total: '150.00' }],
    ['a null for the eligible total', { eligible_total: null }],
    ['a null for an absent description', { items: [TWO_ITEMS.items[0], { ...TWO_ITEMS.items[1], description: null }] }],
    [
      'members in a different sequence',
      { items: TWO_ITEMS.items.map((item) => Object.fromEntries(Object.entries(item).reverse())) },
    ],
  ])('POST /orders replays an order that has %s', async (_what, changes) => {
    const order = anOrder(TWO_ITEMS);
    const body = await merchant.create(order);
    const reversed = Object.fromEntries(Object.entries({ ...order, ...changes }).reverse());
    const again = await merchant.client.post('/orders', reversed);
    expect(again).toMatchObject({ status: 201, body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('POST /orders replays an order whose JSON text has escaped letters', async () => {
    const order = anOrder({ external_id: `café-${Date.now()}` });
    const body = await merchant.create(order);
    const raw = JSON.stringify(order).replaceAll('é', String.raw`\u00e9`);
    expect(await merchant.client.send('POST', '/orders', { raw })).toMatchObject({ status: 201, body });
  });

  it('a repeated POST /orders returns the order in its current state', async () => {
    const document = await merchant.customerWith('20.00');
    const order = anOrder({ document });
    const created = await merchant.create(order);
    const completed = await merchant.complete(created, {
      redeem: '20.00',
      payment_methods: [{ id: 'pix', amount: '1.00' }],
    });
    const again = await merchant.create(order).answer;
    expect(again).toMatchObject({ status: 201, body: completed });
    expect(again.body.status).toBe('completed');

    await merchant.refund(created, '150.00');
    expect(await merchant.create(order)).toMatchObject({ id: created.id, status: 'refunded' });
    await expectInvariants(service);
  });

  it('a repeated POST /orders returns a cancelled or expired order with its current status', async () => {
    const [expiring, cancelled] = [anOrder(), anOrder()];
    await merchant.create(expiring);
    const body = await merchant.create(cancelled);
    await merchant.cancel(body);
    await service.clock.advance({ minutes: 31 });
    expect(await merchant.create(expiring)).toMatchObject({ status: 'expired' });
    expect(await merchant.create(cancelled)).toMatchObject({ status: 'cancelled' });
  });
});

describe('POST /orders with an external_id that is taken', () => {
  it('POST /orders returns 409 with a pointer to each member that differs when the external_id is taken', async () => {
    const order = anOrder(TWO_ITEMS);
    const { id } = await merchant.create(order);
    const other = {
      ...order,
      document: aDocument(),
      total: '151.00',
      items: [
        { id: 'sku-9', price: '100.00', description: 'Cafe' },
        { id: 'sku-2', price: '49.99', description: '' },
      ],
      payment_methods: [
        { id: 'credit_card', amount: '99.00' },
        { id: 'boleto', amount: '50.00' },
      ],
    };
    for (const _attempt of ['first', 'second']) {
      const answer = await merchant.client.post('/orders', other);
      expectProblem(answer, 409, 'external_id_conflict');
      expect(answer.body).toMatchObject({ existing_id: id, next_action: 'read_existing' });
      expect(pointersOf(answer)).toEqual([
        '/document',
        '/items/0/description',
        '/items/0/id',
        '/items/1/description',
        '/items/1/price',
        '/payment_methods/0/amount',
        '/payment_methods/1/id',
        '/total',
      ]);
    }
    expect(await countOrders(order.external_id)).toBe(1);
  });

  it.each([
    ['/items', { items: [TWO_ITEMS.items[0]] }],
    ['/payment_methods', { payment_methods: [] }],
    ['/items/1/description', { items: [TWO_ITEMS.items[0], { ...TWO_ITEMS.items[1], description: 'Chá' }] }],
    ['/items/0/description', { items: [{ id: 'sku-1', price: '100.00' }, TWO_ITEMS.items[1]] }],
    ['/items/0/id', { items: [{ ...TWO_ITEMS.items[0], id: 'SKU-1' }, TWO_ITEMS.items[1]] }],
    ['/total', { total: '150.01' }],
    ['/eligible_total', { eligible_total: '149.99' }],
  ])('POST /orders returns 409 with a pointer to %s when only that member differs', async (pointer, changes) => {
    const order = anOrder(TWO_ITEMS);
    await merchant.create(order);
    await merchant.create({ ...order, ...changes }).refused(409, 'external_id_conflict', [pointer]);
  });

  it('the errors of a 409 name the eligible total only if it is another amount', async () => {
    const order = anOrder({ total: '150.00' });
    await merchant.create(order);
    const pointers = async (changes: object): Promise<string[]> => {
      const problem = await merchant.create({ ...order, ...changes }).refused(409, 'external_id_conflict');
      return pointersOf(problem);
    };
    expect(await pointers({ total: '250.00', eligible_total: '150.00' })).toEqual(['/total']);
    expect(await pointers({ total: '250.00' })).toEqual(['/total']);
    expect(await pointers({ total: '250.00', eligible_total: '100.00' })).toEqual(['/eligible_total', '/total']);
  });

  it('POST /orders with an eligible total replays with the same one and returns 409 without it', async () => {
    const order = anOrder({ eligible_total: '100' });
    const first = await merchant.create(order).answer;
    expect(await merchant.create({ ...order, eligible_total: '100.00' }).replayed()).toMatchObject(first.body);
    await merchant
      .create({ ...order, eligible_total: undefined })
      .refused(409, 'external_id_conflict', ['/eligible_total']);
  });

  it('the POST /orders conflict does not reveal the values of the existing order', async () => {
    const order = anOrder();
    await merchant.create(order);
    const answer = await merchant.create({ ...order, document: aDocument() }).answer;
    expect(JSON.stringify(answer.body)).not.toContain(order.document);
  });

  it('only one of 25 concurrent POST /orders requests with different content creates the order, and the others return 409', async () => {
    const order = anOrder();
    const answers = await atOnce(25, (index) => merchant.create({ ...order, total: `${200 + index}.00` }).answer);
    const created = answers.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    expectCreation(created[0]!);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expectProblem(answer, 409, 'external_id_conflict');
      expect(pointersOf(answer)).toEqual(['/total']);
    }
    expect(await countOrders(order.external_id)).toBe(1);
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
