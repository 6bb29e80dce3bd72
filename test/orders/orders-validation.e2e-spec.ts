import { describe, expect, it } from '@jest/globals';
import { expectCreation, expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aCnpj, aDocument, aMerchant, anOrder, punctuated } from '../support/factories.js';
import { aCart, type Call, type Members, type Order, type Shop, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();

const send = (members: Record<string, unknown>) => merchant.create(members).answer;
const anItem = (members: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: 'sku-1',
  price: '150.00',
  ...members,
});
const aMethod = (members: Record<string, unknown> = {}): Record<string, unknown> => ({
  id: 'card',
  amount: '1.00',
  ...members,
});
const times = (count: number, element: unknown): unknown[] => Array.from({ length: count }, () => element);

async function expectFaults(members: Record<string, unknown>, pointers: string[]): Promise<void> {
  const answer = await send(members);
  expectProblem(answer, 400, 'validation_failed');
  expect(pointersOf(answer)).toEqual(pointers);
}

async function expectCreated(members: Record<string, unknown>): Promise<Order> {
  const { status, body } = await send(members);
  expect({ status, body }).toMatchObject({ status: 201 });
  return body;
}

/** Values that no member accepts. */
const NO_TEXT: unknown[] = [null, undefined, 0, 150, 1.5, true, [], ['1'], {}, { toString: '1' }];
const NO_MONEY = [
  ...NO_TEXT,
  '',
  ' ',
  '-1',
  '-0.01',
  '+1',
  '1,50',
  '1.000',
  '150.',
  '.5',
  '00',
  '01.00',
  '1e2',
  '1E2',
  ' 1',
  '1 ',
  '1\n',
  '0x10',
  'NaN',
  'Infinity',
  '1_000',
  '1000000000',
  '1000000000.00',
  '١٥٠',
  '1.٥',
  'R$ 1',
  '1\0',
];
const NO_CALLER_ID = [
  ...NO_TEXT,
  '',
  'x'.repeat(101),
  '😀'.repeat(101),
  'a\nb',
  'a\0',
  '\t',
  '\x7f',
  'a\x85',
  '\ud800',
  'a\udc00b',
  ' ',
  'a ',
  '\u00a0a',
  '\ufeff',
  '\u2028',
  'a\u2028b',
  'a\u200b',
  'a\u200db',
  'a\u00a0b',
  'a\u3164',
  '❤\ufe0f',
  '.',
  '..',
];
const CALLER_IDS = [
  'a',
  'a b',
  '...',
  'Jose\u0301',
  '❤',
  'x'.repeat(100),
  '😀'.repeat(100),
  'José',
  'a/b?c#d%20',
  '"\'\\;--',
  '__proto__',
  'constructor',
  '0',
  'null',
];

const NO_DOCUMENT = [
  ...NO_TEXT,
  ...['', '5299822472', '529982247255', '529.982.247.25', '529-982-247-25', '52.998.224-725', '529 982 247 25'],
  ...['529.982.247‐25', '529.982.247-25 ', '529.982.247-2', '529..982.247-25', '1234567890.0', '5299822472a'],
  ...[' 52998224725', '52998224725\n', '٥٢٩٩٨٢٢٤٧٢٥', '52998224725\0', '-2998224725', '5299822472.', '1122233300018'],
  ...['112223330001811', '11.222.333-0001/81', '11.222.333.0001-81', '12.abc.345/01de-35', '12.ABC.345/01DE-3A'],
  ...['12abc34501de35', '12ABC34501DE3A', '12ÁBC34501DE35', ' 12ABC34501DE35', '12ABC34501DE35\n'],
];
const withItem = (members: Members): Members => ({ items: [anItem(members)] });
const withMethod = (members: Members): Members => ({ payment_methods: [aMethod(members)] });

/** Values that a member refuses, and how it is sent. */
const REFUSED: [pointer: string, send: (value: unknown) => Members, values: unknown[]][] = [
  ['/total', (total) => ({ total, items: [anItem()], payment_methods: [] }), NO_MONEY],
  [
    '/eligible_total',
    (value) => ({ eligible_total: value }),
    [...NO_MONEY.filter((value) => (value ?? null) !== null), '150.01'],
  ],
  ['/external_id', (value) => ({ external_id: value }), NO_CALLER_ID],
  ['/document', (document) => ({ document }), NO_DOCUMENT],
  [
    '/items',
    (items) => ({ items }),
    [null, undefined, [], 'sku-1', '', 1, true, {}, { 0: anItem(), length: 1 }, anItem()],
  ],
  ['/items/1', (item) => ({ items: [anItem(), item] }), [null, 'sku-1', '', 1, true, [], [anItem()]]],
  ['/items/1/id', (id) => ({ items: [anItem(), anItem({ id })] }), NO_CALLER_ID],
  ['/items/0/price', (price) => withItem({ price }), NO_MONEY],
  ['/items/0/quantity', (quantity) => withItem({ quantity }), [0, -1, 1.5, 1_000_000, '1', true, [], {}]],
  [
    '/items/0/description',
    (description) => withItem({ description }),
    [0, true, [], {}, 'x'.repeat(501), '😀'.repeat(501), '\ud83d', 'a\0b', '\u0007'],
  ],
  ['/payment_methods', (value) => ({ payment_methods: value }), ['card', 1, true, {}, { 0: aMethod(), length: 1 }]],
  [
    '/payment_methods/1',
    (value) => ({ payment_methods: [aMethod(), value] }),
    [null, 'card', 1, true, [], [aMethod()]],
  ],
  ['/payment_methods/0/id', (id) => withMethod({ id }), NO_CALLER_ID],
  ['/payment_methods/0/amount', (amount) => withMethod({ amount }), [...NO_MONEY, '0', '0.0', '0.00']],
];

const unchanged = (values: unknown[]): [sent: unknown, answered: unknown][] => values.map((value) => [value, value]);
/** Values that a member accepts, and what the order then has. */
const ACCEPTED: [
  member: string,
  send: (value: unknown) => Members,
  shown: (order: Order) => unknown,
  values: [sent: unknown, answered: unknown][],
][] = [
  [
    'total',
    (total) => ({ total, payment_methods: [] }),
    (order) => order.total,
    [
      ['0', '0.00'],
      ['0.0', '0.00'],
      ['150', '150.00'],
      ['150.5', '150.50'],
      ...unchanged(['0.00', '0.01', '999999999.99']),
    ],
  ],
  [
    'eligible_total',
    (value) => ({ eligible_total: value }),
    (order) => order.eligible_total,
    [
      [undefined, '150.00'],
      [null, '150.00'],
      ['0', '0.00'],
      ['99.9', '99.90'],
      ['150', '150.00'],
    ],
  ],
  ['external_id', (value) => ({ external_id: value }), (order) => order.external_id, unchanged(CALLER_IDS)],
  [
    'document',
    (document) => ({ document }),
    (order) => order.document,
    [
      // Whatever its check digits.
      ...unchanged([
        '00000000191',
        '52998224726',
        '11222333000181',
        '00000000000100',
        '12ABC34501DE35',
        'ABCDEFGHIJKL00',
      ]),
      ['529.982.247-25', '52998224725'],
      ['529982247-25', '52998224725'],
      ['529.982.24725', '52998224725'],
      ['11.222.333/0001-81', '11222333000181'],
      ['12.ABC.345/01DE-35', '12ABC34501DE35'],
      ['12ABC345/01DE35', '12ABC34501DE35'],
    ],
  ],
  [
    'quantity of an item',
    (quantity) => withItem({ quantity }),
    (order) => order.items[0]!.quantity,
    [...unchanged([1, 999_999]), [2.0, 2], [null, 1]],
  ],
  [
    'description of an item',
    (description) => withItem({ description }),
    (order) => order.items[0]!.description,
    unchanged(['', 'x'.repeat(500), '😀'.repeat(500), 'Café\n\t"quoted" \\ end ', '👩\u200d💻', '<script>', '\u202e']),
  ],
];

describe('the values of the members of an order', () => {
  it.each(REFUSED.flatMap(([pointer, send, values]) => values.map((value) => ({ pointer, value, body: send(value) }))))(
    'POST /orders returns 400 with the pointer $pointer for $value',
    ({ pointer, body }) => expectFaults(body, [pointer]),
  );

  it.each(
    ACCEPTED.flatMap(([member, send, shown, values]) =>
      values.map(([sent, answered]) => ({ member, sent, answered, body: send(sent), shown })),
    ),
  )('POST /orders accepts the $member $sent and answers $answered', async ({ body, shown, answered }) => {
    const order = await expectCreated(body);
    expect(shown(order)).toBe(answered);
    expect(await merchant.order(order)).toEqual(order);
  });
});

describe('strings with a lone surrogate', () => {
  it('POST /orders says that an ID and a description with a lone surrogate are not valid Unicode', async () => {
    const items = [anItem({ id: '\ud800', description: 'a\udc00' })];
    const { errors } = await merchant.create({ external_id: '\ud800', items }).refused(400, 'validation_failed');
    expect(errors).toEqual(
      expect.arrayContaining(
        ['/external_id', '/items/0/id', '/items/0/description'].map((pointer) => ({
          pointer,
          detail: 'must be valid Unicode',
        })),
      ),
    );
  });
});

describe('the total of an order', () => {
  it('POST /orders does not compare the total with the items', async () => {
    await expectCreated({ total: '1.00', items: [anItem({ price: '999.00' })], payment_methods: [] });
  });
});

describe('the currency in a request', () => {
  const cart = { total: '150.00', items: [anItem()] };
  /** The requests that accept it. */
  const requests = (currency: unknown) => ({
    order: () => merchant.create({ currency }),
    sale: () => merchant.sell({ currency }),
    amendment: async () => merchant.amend(await merchant.create(), { ...cart, currency }).answer,
    quote: () => merchant.quote({ total: '150.00', currency }),
  });

  it.each(['BRL', null, undefined])('an order, an amendment and a quote accept the currency %j', async (currency) => {
    const { order, sale, amendment, quote } = requests(currency);
    for (const created of [await order(), await sale()]) expect(created.currency).toBe('BRL');
    expect((await amendment()).status).toBe(200);
    expect((await quote()).amount_to_pay).toBe('150.00');
  });

  it.each(['USD', 'brl', 'BRL ', 'R$', '', 986, true, [], ['BRL'], {}])(
    'an order, an amendment and a quote return 400 when the currency is %j',
    async (currency) => {
      const { order, sale, amendment, quote } = requests(currency);
      for (const call of [order(), sale(), quote()]) await call.refused(400, 'validation_failed', ['/currency']);
      const amended = await amendment();
      expectProblem(amended, 400, 'validation_failed');
      expect(pointersOf(amended)).toEqual(['/currency']);
    },
  );
});

describe('the items of an order', () => {
  it('POST /orders accepts 500 items and returns 400 for 501', async () => {
    expect((await expectCreated({ items: times(500, anItem()) })).items).toHaveLength(500);
    await expectFaults({ items: times(501, anItem()) }, ['/items']);
  });

  it('POST /orders reports too many items as one error, not one error per item', async () => {
    await expectFaults({ items: times(9_000, 0) }, ['/items']);
    await expectFaults({ items: times(4_000, {}), payment_methods: times(100, null) }, ['/items', '/payment_methods']);
  });

  it('POST /orders accepts items that are free, share an ID, or have no description', async () => {
    const { items } = await expectCreated({
      items: [anItem({ price: '0' }), anItem({ price: '0.00' }), anItem({ description: null })],
    });
    expect(items).toEqual([
      { id: 'sku-1', price: '0.00', quantity: 1 },
      { id: 'sku-1', price: '0.00', quantity: 1 },
      { id: 'sku-1', price: '150.00', quantity: 1 },
    ]);
  });
});

describe('the payment methods in the request', () => {
  it('POST /orders accepts 20 payment methods and returns 400 for 21', async () => {
    await expectCreated({ payment_methods: times(20, aMethod()) });
    await expectFaults({ payment_methods: times(21, aMethod()) }, ['/payment_methods']);
  });

  const NONE = [undefined, null, []];

  it('PUT /orders/{id} without payment methods, with null and with an empty list removes them', async () => {
    for (const payment_methods of NONE) {
      const order = await expectCreated({ payment_methods: [aMethod()] });
      const cart = { total: '150.00', items: [anItem()] };
      const amended = await merchant.amend(order, { ...cart, payment_methods }).changed();
      expect(amended.payment_methods).toEqual([]);
      for (const same of NONE)
        expect(await merchant.amend(order, { ...cart, payment_methods: same }).replayed()).toEqual(amended);
    }
  });

  it('POST /orders accepts payment methods up to the exact total and returns 422 above it', async () => {
    await expectCreated({ total: '0.30', payment_methods: [aMethod({ amount: '0.10' }), aMethod({ amount: '0.20' })] });
    const answer = await send({
      total: '0.30',
      payment_methods: [aMethod({ amount: '0.10' }), aMethod({ amount: '0.21' })],
    });
    expectProblem(answer, 422, 'payments_exceed_total');
    expect(pointersOf(answer)).toEqual(['/payment_methods']);
    expectProblem(
      await send({ total: '999999999.99', payment_methods: times(20, aMethod({ amount: '999999999.99' })) }),
      422,
      'payments_exceed_total',
    );
  });
});

describe('the order as a whole', () => {
  it('POST /orders returns 400 with every validation error at once', async () => {
    const answer = await merchant.client.post('/orders', {
      external_id: '',
      items: [anItem({ id: 1, price: 1, description: 1 }), null, anItem({ price: '1.234' })],
      document: '123',
      total: 150,
      payment_methods: [aMethod({ amount: '0' }), {}],
    });
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual([
      '/document',
      '/external_id',
      '/items/0/description',
      '/items/0/id',
      '/items/0/price',
      '/items/1',
      '/items/2/price',
      '/payment_methods/0/amount',
      '/payment_methods/1/amount',
      '/payment_methods/1/id',
      '/total',
    ]);
    expect(answer.body.detail).toBe('11 members are not valid');
  });

  it('an invalid order is not stored, so the corrected order is new under the same external_id', async () => {
    const order = anOrder();
    await merchant.create({ ...order, total: '1.234' }).refused(400, 'validation_failed');
    await merchant.create({ ...order, total: '1.00' }).refused(422, 'payments_exceed_total');
    expectCreation(await merchant.create(order).answer);
  });

  it('POST /orders returns 400 for unknown members at every level and creates nothing', async () => {
    const unknown = { status: 'completed', hasOwnProperty: 1, toString: null, then: [], 'a/b~': {} };
    const order = anOrder({ ...unknown, items: [anItem(), anItem(unknown)], payment_methods: [aMethod(unknown)] });
    const problem = await merchant.create(order).refused(400, 'validation_failed');
    const names = ['/status', '/hasOwnProperty', '/toString', '/then', '/a~1b~0'];
    const pointers = ['', '/items/1', '/payment_methods/0'].flatMap((at) => names.map((name) => at + name));
    expect(pointersOf(problem)).toEqual(pointers.sort());
    for (const { detail } of problem.errors) expect(detail).toBe('is not a member of this request');
    expect((await merchant.client.get(`/orders?external_id=${order.external_id}`)).body.data).toEqual([]);
  });

  it('POST /orders suggests the member that is close to an unknown one', async () => {
    const { total: totl, ...order } = anOrder({ eligibleTotal: '1.00', items: [{ id: 'a', price: '1', quantty: 2 }] });
    await merchant.post('/orders', { ...order, totl }).refused(400, 'validation_failed', {
      errors: [
        { pointer: '/total', detail: 'is required' },
        { pointer: '/items/0/quantty', detail: 'is not a member of this request; did you mean "quantity"?' },
        { pointer: '/eligibleTotal', detail: 'is not a member of this request; did you mean "eligible_total"?' },
        { pointer: '/totl', detail: 'is not a member of this request; did you mean "total"?' },
      ],
    });
  });

  it.each(['__proto__', 'constructor', 'prototype'])('POST /orders refuses a member named %s', async (name) => {
    const good = JSON.stringify(anOrder());
    const withMember = (json: string, value: unknown): string =>
      json.replace('{', `{"${name}":${JSON.stringify(value)},`);
    for (const value of [null, 1, 'x', [], { total: '1.00', polluted: true }, { prototype: { polluted: true } }]) {
      const answer = await merchant.client.send('POST', '/orders', { raw: withMember(good, value) });
      expectProblem(answer, 400, 'validation_failed');
      expect(pointersOf(answer)).toEqual([`/${name}`]);
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    }
    // Values on the prototype are not members of the order.
    const answer = await merchant.client.send('POST', '/orders', { raw: `{"${name}":${good}}` });
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual([`/${name}`, '/document', '/external_id', '/items', '/total'].sort());
    const item = await merchant.client.send('POST', '/orders', {
      raw: JSON.stringify(anOrder({ items: [] })).replace(
        '"items":[]',
        `"items":[{"${name}":${JSON.stringify(anItem())}}]`,
      ),
    });
    expect(pointersOf(item)).toEqual([`/items/0/${name}`, '/items/0/id', '/items/0/price'].sort());
  });

  it.each<unknown>([
    { constructor: 1 },
    { constructor: null },
    [{ constructor: 'x' }],
    { a: { constructor: { prototype: 1 } } },
  ])('POST /orders returns 400, not 500, when a member is %j', async (value) => {
    await expectFaults({ document: value }, ['/document']);
    await expectFaults({ external_id: value }, ['/external_id']);
    await expectFaults({ unknown: value }, ['/unknown']);
  });

  it('POST /orders uses the last of two members with the same name, like JSON.parse', async () => {
    const raw = JSON.stringify(anOrder({ payment_methods: [] })).replace('{', '{"total":"9.99",');
    expect((await merchant.client.send('POST', '/orders', { raw })).body.total).toBe('150.00');
  });
});

describe('DOCUMENT_CHECK_DIGITS=true', () => {
  const { merchant: shop } = useService({ env: { DOCUMENT_CHECK_DIGITS: 'true' } });

  it.each([
    ...['52998224726', '52998224735', '12345678900', '529.982.247-26'],
    ...['11222333000180', '12ABC34501DE34', '12ABC34501DE53', 'ABCDEFGHIJKL00', '12.ABC.345/01DE-34'],
  ])('with DOCUMENT_CHECK_DIGITS=true, POST /orders returns 400 for the document %s', async (document) => {
    await shop.create({ document }).refused(400, 'validation_failed', {
      errors: [{ pointer: '/document', detail: expect.stringContaining('check digits') }],
    });
  });

  it('GET /policy and the policy of a quote say that check digits are verified', async () => {
    expect((await shop.policy()).document_check_digits).toBe(true);
    const quote = await shop.quote({ total: '10.00' }).answer;
    expect(quote.body.policy.document_check_digits).toBe(true);
  });
});

describe('a document with punctuation', () => {
  const BOTH: [string, () => string][] = [
    ['CPF', aDocument],
    ['CNPJ', aCnpj],
  ];

  it.each(BOTH)(
    'orders, grants, debits, quotes and searches take a %s with punctuation as the same without',
    async (...of) => {
      const document = of[1]();
      const sent = punctuated(document);
      const granted = await merchant.grant({ document: sent }).changed();
      expect(granted).toMatchObject({ document });
      const wallet = await merchant.wallet(sent);
      expect(wallet).toMatchObject({ id: granted.wallet_id, document, available: '50.00' });
      expect(await merchant.wallet(document)).toEqual(wallet);
      expect(await merchant.quote({ document: sent, total: '150.00' })).toEqual(
        await merchant.quote({ document, total: '150.00' }),
      );
      const order = await merchant.create({ document: sent }).changed();
      expect(order).toMatchObject({ document, cashback: { to_redeem: { available: '50.00' } } });
      for (const one of [sent, document])
        expect((await merchant.searchOrders({ document: one })).data).toEqual([order]);
      expect(await merchant.debit({ document: sent })).toMatchObject({ document, wallet_id: wallet.id });
      expect(await merchant.sell({ document: sent })).toMatchObject({ document, status: 'completed' });
      const stored = await rowsOf(service, 'SELECT document FROM orders WHERE document IN (?)', [[document, sent]]);
      expect(stored).toEqual([{ document }, { document }]);
    },
  );

  it.each(BOTH)('the answer for an unknown customer has the %s without punctuation', async (...of) => {
    const document = of[1]();
    expect(await merchant.wallet(punctuated(document))).toMatchObject({ id: null, document });
  });

  it.each(BOTH)(
    'a repeated order, grant and amendment with or without punctuation of the %s is a replay, also after an erasure',
    async (...of) => {
      const document = of[1]();
      const sent = punctuated(document);
      const body = anOrder({ document: sent });
      const order = await merchant.create(body);
      const gift = { external_id: `SORRY-${unique()}`, document: sent };
      const granted = await merchant.grant(gift);
      await merchant
        .create({ ...body, document: punctuated(aDocument()) })
        .refused(409, 'external_id_conflict', ['/document']);
      const amended = await merchant.amend(order, aCart('120.00', { document: sent })).changed();
      for (const one of [sent, document]) {
        expect(await merchant.create({ ...body, document: one }).replayed()).toEqual(amended);
        expect(await merchant.grant({ ...gift, document: one }).replayed()).toEqual(granted);
        expect(await merchant.amend(order, aCart('120.00', { document: one })).replayed()).toEqual(amended);
      }
      const { pseudonym } = await merchant.erase(document);
      for (const one of [sent, document]) {
        expect(await merchant.create({ ...body, document: one }).replayed()).toMatchObject({ document: pseudonym });
        expect(await merchant.grant({ ...gift, document: one }).replayed()).toMatchObject({ document: pseudonym });
      }
    },
  );

  it.each(BOTH)('an amendment and a correction give an order the customer of a %s with punctuation', async (...of) => {
    const document = of[1]();
    const sent = punctuated(document);
    const order = await merchant.create();
    const amended = await merchant.amend(order, aCart('120.00', { document: sent })).changed();
    expect(amended).toMatchObject({ document, version: 2 });
    const sold = await merchant.completed();
    const changed = await merchant.changeCustomer(sold, sent).changed();
    expect(changed).toMatchObject({ moved: '7.50', order: { document } });
    for (const one of [sent, document]) expect(await merchant.changeCustomer(sold, one).replayed()).toEqual(changed);
    expect((await merchant.wallet(document)).pending).toBe('7.50');
  });

  it('an amendment with the punctuated document of the order keeps an order that holds cashback', async () => {
    const order = await merchant.orderThatHolds('20.00');
    const amended = await merchant.amend(order, aCart('120.00', { document: punctuated(order.document) }));
    expect(amended).toMatchObject({ document: order.document, cashback: { to_redeem: { held: '20.00' } } });
  });
});

/** Each request in which a document is new. */
const NEW: [string, (shop: Shop, document: string) => Call<unknown>][] = [
  ['a new order', (shop, document) => shop.create({ document })],
  ['a sale', (shop, document) => shop.sell({ document })],
  ['a quote', (shop, document) => shop.quote({ document, total: '150.00' })],
  ['a grant', (shop, document) => shop.grant({ document })],
];

/** Sends each of them, and the changes of orders that give them this customer. */
async function expectRefusedWhereNew(shop: Shop, document: string, detail: string): Promise<void> {
  const problem = { errors: [{ pointer: '/document', detail: expect.stringContaining(detail) }] };
  for (const [, send] of NEW) await send(shop, document).refused(400, 'validation_failed', problem);
  const [open, sold] = [await shop.create(), await shop.completed()];
  await shop.amend(open, aCart('120.00', { document })).refused(400, 'validation_failed', problem);
  await shop.changeCustomer(sold, document).refused(400, 'validation_failed', problem);
  expect([await shop.order(open), await shop.order(sold)]).toEqual([open, sold]);
}

/** What a merchant can do with an order and a grant of a customer whose document no new one could have. */
async function expectUsable(shop: Shop, body: ReturnType<typeof anOrder>, gift: Members): Promise<void> {
  const { document } = body;
  const wallet = await shop.wallet(document);
  expect(wallet).toMatchObject({ document, available: '50.00', pending: '7.50' });
  const { data: orders } = await shop.searchOrders({ document: punctuated(document) });
  const [sold, open] = orders as [Order, Order];
  expect(sold).toMatchObject({ document, status: 'completed' });
  expect(await shop.order(open)).toEqual(open);
  expect(await shop.create(body).replayed()).toEqual(open);
  expect(await shop.grant(gift).replayed()).toMatchObject({ document, amount: '50.00' });
  expect(await shop.hold(open, '20.00').changed()).toMatchObject({ document });
  expect(await shop.amend(open, aCart('140.00', { document })).changed()).toMatchObject({ document, total: '140.00' });
  expect(await shop.debit({ document })).toMatchObject({ document, amount: '20.00' });
  expect(await shop.complete(open)).toMatchObject({ document, status: 'completed' });
  await shop.refund(open, '140.00');
  expect(await shop.post('/customers/export', { document })).toMatchObject({ document, wallet: { document } });
  const erased = await shop.post<{ orders: number }>('/customers/erase', { document, confirm: document });
  expect(erased).toMatchObject({ wallet_id: wallet.id, orders: 2 });
  expect((await shop.wallet(document)).id).toBeNull();
}

describe('a document of one repeated digit', () => {
  it.each(['00000000000', '11111111111', '999.999.999-99', '00000000000000', '11.111.111/1111-11'])(
    'the document %s is refused wherever it would be new',
    (document) => expectRefusedWhereNew(merchant, document, 'one digit repeated'),
  );

  it.each(['AAAAAAAAAAAA00', '00000000001', '00000000000001', '11111111111112'])(
    'the document %s is not of one repeated digit, and is accepted',
    async (document) => {
      expect(await merchant.create({ document })).toMatchObject({ document });
    },
  );

  it.each(['00000000000', '22222222222222'])(
    'a customer with the document %s who exists can be read, searched, repeated, debited, exported and erased',
    async (document) => {
      const shop = await aMerchant(service);
      const before = aDocument();
      const body = anOrder({ document: before });
      await shop.create(body);
      await service.clock.advance({ seconds: 1 });
      await shop.completed({ document: before });
      const gift = { external_id: `SORRY-${unique()}`, document: before };
      await shop.grant(gift);
      // A release that accepted it left it so.
      for (const table of ['orders', 'wallets'])
        await rowsOf(service, `UPDATE ${table} SET document = ? WHERE document = ? AND merchant_id = ?`, [
          document,
          before,
          shop.id,
        ]);
      await expectUsable(shop, { ...body, document }, { ...gift, document });
    },
  );

  it('a search for a document of one repeated digit that nobody has finds nothing, and a debit of it finds no balance', async () => {
    const shop = await aMerchant(service);
    const document = '33333333333';
    expect(await shop.wallet(document)).toMatchObject({ id: null, document });
    expect((await shop.searchOrders({ document })).data).toEqual([]);
    await shop.debit({ document }).refused(422, 'debit_exceeds_balance', { maximum: '0.00' });
    await shop.send('POST', '/customers/export', { body: { document } }).refused(404, 'not_found');
    expect(await shop.post('/customers/erase', { document, confirm: document })).toMatchObject({ pseudonym: null });
  });
});

describe('a document with wrong check digits', () => {
  it.each(['52998224726', '529.982.247-26', '11222333000180', '12.ABC.345/01DE-34'])(
    'the document %s is refused wherever it would be new, if the policy verifies check digits',
    async (document) => {
      const shop = await aMerchant(service);
      const right = { document: '52998224725' };
      await shop.setPolicy({ documentCheckDigits: true });
      await shop.quote({ ...right, total: '150.00' });
      const problem = { errors: [{ pointer: '/document', detail: expect.stringContaining('check digits') }] };
      for (const [, send] of NEW) await send(shop, document).refused(400, 'validation_failed', problem);
      const [open, sold] = [await shop.create(right), await shop.completed(right)];
      await shop.amend(open, aCart('120.00', { document })).refused(400, 'validation_failed', problem);
      await shop.changeCustomer(sold, document).refused(400, 'validation_failed', problem);
      expect([await shop.order(open), await shop.order(sold)]).toEqual([open, sold]);
    },
  );

  it('a customer with wrong check digits who exists can be read, searched, repeated, debited, exported and erased', async () => {
    const shop = await aMerchant(service);
    const document = '52998224726';
    const body = anOrder({ document });
    await shop.create(body);
    await service.clock.advance({ seconds: 1 });
    await shop.completed({ document });
    const gift = { external_id: `SORRY-${unique()}`, document };
    await shop.grant(gift);
    await shop.setPolicy({ documentCheckDigits: true });
    await service.clock.advance({ seconds: 1 });
    await shop.create({ document }).refused(400, 'validation_failed', ['/document']);
    await expectUsable(shop, body, gift);
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
