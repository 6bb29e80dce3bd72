import { describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { withoutVoidable } from '../support/event-refund.js';
import { eventsOf } from '../support/events.js';
import { expectCreation, expectInvariants, expectProblem, pointersOf, type Problem } from '../support/expectations.js';
import { aDocument, aUser } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Call, Members, Order, Refund } from '../support/shop.js';
import { useMerchant } from '../support/use-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });

let counter = 0;
const refund = (order: { id: string }, amount: unknown, external_id: unknown = `DEV-${++counter}`) =>
  merchant.refund(order, amount, { external_id }).answer;

/** A completed order on which cashback was redeemed. */
async function anOrderOf(total: string, redeem: string, shop = merchant): Promise<Order> {
  const document = aDocument();
  if (Number(redeem) > 0) await shop.credit(document, redeem);
  return shop.completed({ document, total }, { redeem });
}

describe('POST /orders/{id}/refunds', () => {
  it('POST /orders/{id}/refunds returns the cashback returned, the cashback taken back, and the amount to pay back', async () => {
    const order = await anOrderOf('150.00', '15.00');
    const answer = await refund(order, '50', 'DEV-first');
    expectCreation(answer);
    const { body } = answer;
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      external_id: 'DEV-first',
      order_id: order.id,
      order_external_id: order.external_id,
      amount: '50.00',
      eligible_amount: '50.00',
      items: [],
      rest: false,
      cashback_returned: '5.00',
      cashback_taken_back: '2.25',
      amount_to_pay_back: '45.00',
      reason: null,
      store: null,
      metadata: {},
      created_at: expect.stringMatching(/Z$/),
      created_by: order.created_by,
      voidable: true,
      voided_at: null,
      voided_by: null,
      void_reason: null,
    });
    expect(await merchant.order(order)).toEqual({
      ...order,
      status: 'partially_refunded',
      cashback: {
        to_redeem: { ...order.cashback.to_redeem, available: '5.00', returned: '5.00' },
        to_receive: { ...order.cashback.to_receive, taken_back: '2.25', status: 'partially_taken_back' },
      },
      refunded: { amount: '50.00', amount_to_pay_back: '45.00' },
      version: order.version + 1,
      updated_at: body.created_at,
    });
  });
});

describe('a repeated POST /orders/{id}/refunds', () => {
  it('a refund external_id that differs in case, accent, spaces, normal form, or emoji, or is used on another order, is a new one', async () => {
    const order = await anOrderOf('150.00', '0.00');
    const other = await anOrderOf('150.00', '0.00');
    const ids = ['Dev-é', 'dev-é', 'Dev-e', 'Dev-e\u0301', 'Dev -é', 'Dev-é🍕', 'Dev-é🍔'];
    for (const each of [order, other]) {
      for (const id of ids) {
        const answer = await refund(each, '1.00', id);
        expect(answer).toMatchObject({ status: 201, body: { external_id: id, order_id: each.id } });
        expectCreation(answer);
      }
    }
  });
});

describe('POST /orders/{id}/refunds errors', () => {
  it('POST /orders/{id}/refunds returns 422 with the remaining maximum when the amount exceeds it by one centavo', async () => {
    const order = await anOrderOf('150.00', '15.00');
    await refund(order, '100.00');
    for (const _attempt of ['first', 'second']) {
      const answer = await refund(order, '50.01', 'DEV-over');
      expectProblem(answer, 422, 'refund_exceeds_total');
      expect(answer.body).toMatchObject({ maximum: '50.00' });
    }
    expect((await refund(order, '50.00', 'DEV-over')).status).toBe(201);
    const late = await refund(order, '0.01');
    expectProblem(late, 409, 'invalid_transition');
    expect(late.body).toMatchObject({ current_status: 'refunded', allowed: [], operations: [] });
  });

  it.each([
    [{}, ['/amount', '/external_id']],
    [{ external_id: 'DEV-1', amount: '0.00' }, ['/amount']],
    [{ external_id: 'DEV-1', amount: 50 }, ['/amount']],
    [{ external_id: 'DEV-1', amount: '-1.00' }, ['/amount']],
    [{ external_id: '', amount: '1.00' }, ['/external_id']],
    [{ external_id: 1, amount: '1.00' }, ['/external_id']],
    [{ external_id: 'DEV\u0000', amount: '1.00' }, ['/external_id']],
    [{ external_id: 'x'.repeat(101), amount: '1.00' }, ['/external_id']],
  ])('POST /orders/{id}/refunds returns 400 for the body %j', async (body, pointers) => {
    const order = await anOrderOf('150.00', '0.00');
    const answer = await merchant.client.post(`/orders/${order.id}/refunds`, body);
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual(pointers);
  });
});

describe('POST /orders/{id}/refunds with items', () => {
  const refundItems = (order: { id: string }, body: Members, external_id = `DEV-${++counter}`) =>
    merchant.refund(order, undefined, { ...body, external_id });

  /** A completed order with items of these prices, each with its quantity. */
  async function aCart(total: string, prices: [id: string, price: string, quantity?: number][], members: Members = {}) {
    const items = prices.map(([id, price, quantity = 1]) => ({ id, price, quantity, description: `The ${id}` }));
    return merchant.completed({ document: aDocument(), total, items, payment_methods: [], ...members });
  }
  const of = (id: string, quantity?: number): Members => ({ items: [{ id, ...(quantity && { quantity }) }] });

  it('a refund keeps the items that came back with their quantities, and shows them wherever it is read', async () => {
    const order = await aCart('120.00', [
      ['shirt', '30.00', 3],
      ['hat', '10.00'],
    ]);
    const first = await refundItems(order, { items: [{ id: 'hat' }, { id: 'shirt', quantity: 2 }], rest: true });
    const items = [
      { id: 'hat', quantity: 1 },
      { id: 'shirt', quantity: 2 },
    ];
    expect(first).toMatchObject({ amount: '90.00', items, rest: true });
    const second = await refundItems(order, { ...of('shirt', 1), rest: false });
    expect(second).toMatchObject({ amount: '30.00', items: [{ id: 'shirt', quantity: 1 }], rest: false });
    // Only the last refund of an order can be undone.
    const now = [{ ...first, voidable: false }, second];
    expect((await merchant.refunds(order)).data).toEqual(now.toReversed());
    expect(await merchant.readRefund(first)).toEqual(now[0]);
    const events = (await eventsOf(service, merchant)).filter(({ data }) => data.order?.id === order.id);
    expect(events.flatMap(({ data }) => data.refund ?? [])).toEqual([first, second].map(withoutVoidable));
    const path = '/customers/export';
    const { refunds } = await merchant.post<{ refunds: Refund[] }>(path, { document: order.document });
    expect(refunds).toEqual(now);
  });

  it('an amended order returns the items that it was completed with', async () => {
    const order = await merchant.create({ items: [{ id: 'tv', price: '150.00' }] });
    const items = [
      { id: 'radio', price: '60.00' },
      { id: 'cable', price: '40.00' },
    ];
    const { version } = await merchant.put<Order>(`/orders/${order.id}`, {
      total: '90.00',
      items,
      payment_methods: [],
    });
    await merchant.complete(order, {}, { headers: { 'if-match': `"${version}"` } });
    await refundItems(order, of('tv')).refused(400, 'validation_failed', ['/items/0/id']);
    expect((await refundItems(order, of('cable'))).amount).toBe('36.00');
    expect((await refundItems(order, of('radio'))).amount).toBe('54.00');
  });

  it('a repetition is recognized by its items, with or without the default quantity, also after an erasure', async () => {
    const order = await aCart('130.00', [
      ['shirt', '30.00', 3],
      ['hat', '10.00'],
    ]);
    const sent = { items: [{ id: 'shirt', quantity: 3 }, { id: 'hat' }], rest: true, reason: 'Too small' };
    const first = await refundItems({ id: order.id }, sent, 'DEV-1');
    expect(first.amount).toBe('130.00');
    const same = [sent, { ...sent, items: [{ id: 'shirt' }, { id: 'hat', quantity: 1 }] }];
    const different: [Members, string[]][] = [
      [{ ...sent, items: [{ id: 'shirt', quantity: 2 }, { id: 'hat' }] }, ['/items/0/quantity']],
      [{ ...sent, items: [{ id: 'shirt' }, { id: 'cap', quantity: 1 }] }, ['/items/1/id']],
      [{ ...sent, items: [{ id: 'shirt' }] }, ['/items']],
      [{ ...sent, rest: false }, ['/rest']],
      [{ ...sent, items: undefined }, ['/items']],
      [{ ...sent, take_back: '0.01' }, ['/take_back']],
      [{ amount: '130.00', reason: 'Too small' }, ['/amount', '/items', '/rest']],
    ];
    const expectReplays = async (shown: Refund): Promise<void> => {
      for (const body of same) {
        const again = await refundItems(order, body, 'DEV-1').answer;
        expect([again.status, again.headers.get('idempotency-replayed'), again.body]).toEqual([201, 'true', shown]);
      }
      for (const [body, pointers] of different) {
        const answer = await refundItems(order, body, 'DEV-1').answer;
        expectProblem(answer, 409, 'external_id_conflict');
        expect(pointersOf(answer)).toEqual(pointers);
      }
    };
    await expectReplays(first);
    const { document } = order;
    await merchant.post('/customers/erase', { document, confirm: document });
    await expectReplays({ ...first, reason: null });
  });

  it('a request that says the default is the same as one that leaves it out, also after an erasure', async () => {
    const order = await merchant.completed({ total: '100.00', eligible_total: '80.00' });
    const sent = { external_id: 'DEV-1', amount: '50.00', reason: 'Too small', metadata: { a: 'b' } };
    const { voidable: _, ...first } = await merchant.post<Refund>(`/orders/${order.id}/refunds`, sent);
    const defaults = { eligible_amount: first.eligible_amount, take_back: first.cashback_taken_back };
    const replays = async (): Promise<void> => {
      for (const member of [
        {},
        { eligible_amount: defaults.eligible_amount },
        { take_back: defaults.take_back },
        defaults,
      ])
        expect(await merchant.refund(order, '50.00', { ...sent, ...member }).replayed()).toMatchObject({
          id: first.id,
        });
      for (const [member, pointers] of [
        [{ eligible_amount: '39.99' }, ['/eligible_amount']],
        [{ take_back: '1.99' }, ['/take_back']],
      ] as const) {
        const answer = await merchant.refund(order, '50.00', { ...sent, ...member }).answer;
        expectProblem(answer, 409, 'external_id_conflict');
        expect(pointersOf(answer)).toEqual(pointers);
      }
    };
    await replays();
    const said = { ...sent, ...defaults, external_id: 'DEV-2', amount: '10.00', eligible_amount: '8.00' };
    const second = await merchant.refund(order, '10.00', { ...said, take_back: '0.40' });
    const { document } = order;
    await merchant.post('/customers/erase', { document, confirm: document });
    await replays();
    for (const take_back of ['0.40', undefined])
      expect((await merchant.refund(order, '10.00', { ...said, take_back }).replayed()).id).toBe(second.id);
  });

  it('of two refunds of the same last item at the same time, one wins', async () => {
    const order = await aCart('100.00', [
      ['a', '50.00'],
      ['b', '30.00'],
      ['c', '20.00'],
    ]);
    await refundItems(order, of('a'));
    const answers = await atOnce(20, () => refundItems(order, of('b')).answer);
    const [won, ...others] = answers.filter(({ status }) => status === 201);
    expect([won?.body.amount, others]).toEqual(['30.00', []]);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expectProblem(answer, 422, 'refund_exceeds_total');
      expect(pointersOf(answer)).toEqual(['/items/0/quantity']);
    }
    const last = await atOnce(5, (at) => refundItems(order, of('c'), `DEV-last-${at}`).answer);
    expect(last.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409]);
    expect((await merchant.order(order)).status).toBe('refunded');
  });
});

describe('refunds with an eligible_amount', () => {
  /** 100.00 of which 80.00 are eligible, so it earned 4.00. */
  const anOrderWithShipping = (): Promise<Order> => merchant.completed({ total: '100.00', eligible_total: '80.00' });

  let counter = 0;
  /** @param eligible_amount is left out if it is undefined. */
  const refund = (
    order: { id: string },
    amount: string,
    eligible_amount?: unknown,
    external_id = `DEV-${++counter}`,
  ): Promise<Answer<Refund>> => merchant.refund(order, amount, { external_id, eligible_amount }).answer;

  describe('eligible_amount of a refund', () => {
    it('concurrent refunds with different eligible parts add up to the totals of the order', async () => {
      const order = await anOrderWithShipping();
      const answers = await atOnce(20, (index) => refund(order, '10.00', index % 2 === 0 ? '10.00' : '0.00'));
      const parts = answers.filter(({ status }) => status === 201).map(({ body }) => body.eligible_amount);
      expect(parts.toSorted()).toEqual(['0.00', '0.00', ...Array<string>(8).fill('10.00')]);
      for (const answer of answers.filter(({ status }) => status !== 201))
        expect(['refund_exceeds_total', 'invalid_transition']).toContain((answer.body as unknown as Problem).code);
      expect((await merchant.order(order)).cashback.to_receive.taken_back).toBe('4.00');
    });
  });

  describe('a repeated refund with an eligible_amount', () => {
    it('a repeated refund is a replay when its eligible_amount means the same', async () => {
      const order = await anOrderWithShipping();
      for (const [externalId, first, others] of [
        ['shipping', '0.00', ['0', '0.0']],
        ['default', undefined, [null, '8.00', '8']],
        ['null', null, [undefined, '8.00']],
        ['as the default', '8.00', [undefined, null, '8']],
      ] as const) {
        const { status, body } = await refund(order, '10.00', first, externalId);
        expect(status).toBe(201);
        for (const eligible of [first, ...others]) {
          const again = await refund(order, '10.00', eligible, externalId);
          expect(again).toMatchObject({ status: 201, body });
          expect(again.headers.get('idempotency-replayed')).toBe('true');
        }
      }
      for (const [amount, eligible, pointers] of [
        ['10.00', undefined, ['/eligible_amount']],
        ['10.01', '99.00', ['/amount', '/eligible_amount']],
      ] as const) {
        const answer = await refund(order, amount, eligible, 'shipping');
        expectProblem(answer, 409, 'external_id_conflict');
        expect(pointersOf(answer)).toEqual(pointers);
      }
    });
  });

  describe('POST /orders/{id}/refunds errors of eligible_amount', () => {
    it.each([
      { before: [], amount: '50.00', sent: '0.00', minimum: '30.00', maximum: '50.00' },
      { before: [], amount: '50.00', sent: '29.99', minimum: '30.00', maximum: '50.00' },
      { before: [], amount: '50.00', sent: '50.01', minimum: '30.00', maximum: '50.00' },
      { before: [['20.00', '0.00']], amount: '10.00', sent: '9.99', minimum: '10.00', maximum: '10.00' },
      { before: [['80.00', '80.00']], amount: '10.00', sent: '0.01', minimum: '0.00', maximum: '0.00' },
    ])(
      'after $before, a refund of $amount with the eligible_amount $sent is 422 with the bounds $minimum and $maximum, which are possible',
      async ({ before, amount, sent, minimum, maximum }) => {
        const order = await anOrderWithShipping();
        for (const [earlier, eligible] of before) expect((await refund(order, earlier!, eligible)).status).toBe(201);
        const unchanged = await merchant.order(order);
        for (const _attempt of ['first', 'second']) {
          const answer = await refund(order, amount, sent, 'DEV-over');
          expectProblem(answer, 422, 'refund_exceeds_total');
          expect(answer.body).toMatchObject({ minimum, maximum });
          const bounds = minimum === maximum ? `must be ${minimum}` : `must be from ${minimum} to ${maximum}`;
          expect(answer.body).toMatchObject({ errors: [{ pointer: '/eligible_amount', detail: bounds }] });
        }
        expect(await merchant.order(order)).toEqual(unchanged);
        const edges = minimum === maximum ? [minimum] : [minimum, maximum];
        for (const edge of edges) {
          const other = await anOrderWithShipping();
          for (const [earlier, eligible] of before) await refund(other, earlier!, eligible);
          expect((await refund(other, amount, edge)).body.eligible_amount).toBe(edge);
        }
      },
    );

    it('POST /orders/{id}/refunds returns 422 with the bounds of the amount when the amount exceeds what is left', async () => {
      const order = await anOrderWithShipping();
      await refund(order, '60.00');
      const answer = await refund(order, '40.01', '99.00');
      expectProblem(answer, 422, 'refund_exceeds_total');
      expect(answer.body).toMatchObject({
        minimum: '0.01',
        maximum: '40.00',
        errors: [{ pointer: '/amount', detail: 'must be from 0.01 to 40.00' }],
      });
    });

    it.each([['-1.00'], [0], [''], ['1.001'], [{}]])(
      'POST /orders/{id}/refunds returns 400 for the eligible_amount %j',
      async (eligible) => {
        const answer = await refund(await anOrderWithShipping(), '50.00', eligible);
        expectProblem(answer, 400, 'validation_failed');
        expect(pointersOf(answer)).toEqual(['/eligible_amount']);
      },
    );
  });
});

describe('quotes of refunds', () => {
  const merchant = useMerchant(() =>
    aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 0, validityDays: 30, earnRateMaximumBps: 1000 }),
  );

  type Quote = Pick<
    Refund,
    'amount' | 'eligible_amount' | 'cashback_returned' | 'cashback_taken_back' | 'amount_to_pay_back'
  >;

  const quote = ({ id }: { id: string }, body: Members): Call<Quote> =>
    merchant.send('POST', `/orders/${id}/refunds/quote`, { body }, 200);

  describe('POST /orders/{id}/refunds/quote', () => {
    it('a quote writes nothing, and a repeat returns the same', async () => {
      const order = await merchant.completed();
      const state = async (): Promise<unknown> => [
        await merchant.order(order),
        await merchant.wallet(order.document),
        await merchant.statement(order.document),
        await eventsOf(service, merchant),
        await rowsOf(service, 'SELECT * FROM wallets WHERE document = ?', [order.document]),
        await rowsOf(service, 'SELECT id FROM refunds WHERE order_id = ?', [order.id]),
      ];
      const before = await state();
      const quoted = await quote(order, { amount: '50.00' });
      expect(quoted).toEqual({
        amount: '50.00',
        eligible_amount: '50.00',
        cashback_returned: '0.00',
        cashback_taken_back: '2.50',
        amount_to_pay_back: '50.00',
      });
      expect(await quote(order, { amount: '50.00' })).toEqual(quoted);
      expect(await state()).toEqual(before);
    });

    it('a quote is refused as the refund would be', async () => {
      const order = await merchant.completed();
      const pending = await merchant.create();
      const cases: [{ id: string }, Members, number, string][] = [
        [order, { amount: '150.01' }, 422, 'refund_exceeds_total'],
        [order, { amount: '10.00', eligible_amount: '10.01' }, 422, 'refund_exceeds_total'],
        [order, { amount: '10.00', take_back: '7.51' }, 422, 'refund_exceeds_total'],
        [order, { amount: '0.00' }, 400, 'validation_failed'],
        [order, { amount: 10 }, 400, 'validation_failed'],
        [pending, { amount: '10.00' }, 409, 'invalid_transition'],
        [{ id: pending.document }, { amount: '10.00' }, 404, 'not_found'],
      ];
      for (const [of, body, status, code] of cases) {
        const { instance: _i, request_id: _r, ...quoted } = await quote(of, body).refused(status, code);
        const { amount, ...members } = body;
        const {
          instance: _j,
          request_id: _s,
          ...refused
        } = await merchant.refund(of, amount, members).refused(status, code);
        expect(quoted).toEqual(refused);
      }
      for (const member of ['external_id', 'reason', 'store', 'metadata'])
        await quote(order, { amount: '10.00', [member]: 'x' }).refused(400, 'validation_failed', [`/${member}`]);
    });
  });

  describe('POST /orders/{id}/refunds/quote with items', () => {
    const CART = {
      items: [
        { id: 'tv', price: '200.00' },
        { id: 'shirt', price: '50.00', quantity: 2 },
      ],
      total: '270.00',
      eligible_total: '250.00',
      payment_methods: [{ id: 'pix', amount: '270.00' }],
    };

    it.each<[string, Members, string[]]>([
      ['neither an amount nor items', {}, ['/amount']],
      ['no rest', { rest: false }, ['/amount']],
      ['a rest of nothing', { rest: true }, ['/rest']],
      ['an amount with items', { amount: '10.00', items: [{ id: 'tv' }] }, ['/amount']],
      [
        'both amounts with the rest',
        { amount: '1.00', eligible_amount: '1.00', rest: true },
        ['/amount', '/eligible_amount'],
      ],
      ['an eligible amount with items', { eligible_amount: '1.00', items: [{ id: 'tv' }] }, ['/eligible_amount']],
      ['no items', { items: [] }, ['/items']],
      ['too many items', { items: Array.from({ length: 501 }, (_, at) => ({ id: `sku-${at}` })) }, ['/items']],
      ['an unknown item', { items: [{ id: 'tv' }, { id: 'sku-9' }] }, ['/items/1/id']],
      ['an item twice', { items: [{ id: 'tv' }, { id: 'tv' }] }, ['/items/1/id']],
      ['a quantity above that of the order', { items: [{ id: 'shirt', quantity: 3 }] }, ['/items/0/quantity']],
      ['a quantity of zero', { items: [{ id: 'shirt', quantity: 0 }] }, ['/items/0/quantity']],
      ['a price', { items: [{ id: 'tv', price: '1.00' }] }, ['/items/0/price']],
      ['a rest that is a text', { rest: 'true' }, ['/rest']],
      ['a free item', { items: [{ id: 'gift' }] }, ['/items']],
    ])('a quote and a refund of %s are a 400 that names the member', async (_, body, pointers) => {
      const items = [...CART.items, { id: 'gift', price: '0.00' }];
      const order = await merchant.completed({ ...CART, items, total: '300.00', eligible_total: '300.00' });
      await quote(order, body).refused(400, 'validation_failed', pointers);
      const { amount, ...members } = body;
      await merchant.refund(order, amount, members).refused(400, 'validation_failed', pointers);
    });
  });
});

describe('refunds that are undone', () => {
  const merchant = useMerchant(() => aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 0 }));

  /** What a void must restore: the order without its version, the wallet, and what is left of each credit. */
  async function stateOf({ id }: Order): Promise<object> {
    const { version: _, updated_at: __, ...order } = await merchant.order({ id });
    const wallet = await merchant.wallet(order.document);
    const sql =
      'SELECT id, remaining_cents, held_cents, claimed_cents FROM cashback_credits WHERE merchant_id = ? AND wallet_id = ? AND remaining_cents > 0 ORDER BY id';
    return { order, wallet, credits: await rowsOf(service, sql, [merchant.id, wallet.id]) };
  }

  /** Refunds, and expects that the void restores everything, once. */
  async function expectUndone(order: Order, amount: string | undefined, members: object = {}): Promise<Refund> {
    const before = await stateOf(order);
    const refund = await merchant.refund(order, amount, { ...members });
    expect(refund.voidable).toBe(true);
    expect(await merchant.readRefund(refund)).toEqual(refund);
    const undone = await merchant.voidRefund(refund, { reason: 'Wrong order' }).changed();
    expect(undone).toEqual({
      ...refund,
      ...{ voidable: false, voided_at: expect.any(String), voided_by: merchant.by, void_reason: 'Wrong order' },
    });
    expect(await stateOf(order)).toEqual(before);
    return undone;
  }

  /** A customer who spent 20.00 of a grant on an order of 100.00 that earned 4.00. */
  async function anOrderThatRedeemed(): Promise<Order> {
    const document = await merchant.customerWith('30.00', { expiresAt: service.clock.inDays(30) });
    return merchant.completed({ document, total: '100.00' }, { redeem: '20.00' });
  }

  describe('POST /orders/{id}/refunds/{refund_id}/void', () => {
    it.each([
      ['a part', '33.33', {}],
      ['the whole order', '100.00', {}],
      ['items', undefined, { items: [{ id: 'sku-1' }] }],
      ['an amount with a part of the cashback', '50.00', { take_back: '3.00', eligible_amount: '50.00' }],
    ])('a refund of %s and its void restore the order and the wallet', async (_, amount, members) => {
      const order = await anOrderThatRedeemed();
      await expectUndone(order, amount, members);
      // What was refunded can be refunded again, and undone again.
      await expectUndone(order, amount, members);
    });

    it('the ledger nets out: each line of the refund has one with the opposite sign, by who undid it, in its store', async () => {
      const order = await anOrderThatRedeemed();
      const refund = await merchant.refund(order, '100.00', { store: 'RJ-003' });
      const support = await aUser(service, merchant.id, ['refund']);
      await support.voidRefund(refund);
      const lines = (await merchant.statement(order.document)).filter(({ refund_id }) => refund_id === refund.id);
      expect(lines).toMatchObject([
        { kind: 'return', amount: '20.00', by: merchant.by, store: 'RJ-003' },
        { kind: 'take_back', amount: '-4.00', by: merchant.by },
        { kind: 'take_back', amount: '4.00', by: support.by, store: 'RJ-003' },
        { kind: 'return', amount: '-20.00', by: support.by, store: 'RJ-003' },
      ]);
      const { data } = await merchant.timeline(order, 'limit=100');
      expect(data.map(({ type }) => type)).toContain('refund_voided');
    });

    it('the event order.refund_voided has the order, the refund and the wallet; that of the refund keeps what it said', async () => {
      const order = await anOrderThatRedeemed();
      const refund = await merchant.refund(order, '100.00', { reason: 'Mistake' });
      const undone = await merchant.voidRefund(refund, { reason: 'Wrong order' });
      const events = (await eventsOf(service, merchant)).filter(({ data }) => data.refund?.id === refund.id);
      expect(events.map(({ type }) => type)).toEqual(['order.refunded', 'order.refund_voided']);
      const { voidable: _, ...made } = refund;
      const { voidable: __, ...voided } = undone;
      expect(events.map(({ data }) => data.refund)).toEqual([made, voided]);
      expect(events[1]).toMatchObject({
        by: merchant.by,
        data: { order: { status: 'completed', version: 4, refunded: { amount: '0.00' } }, wallet: { debt: '0.00' } },
      });
    });

    it('a repeated void, and a repetition of the request of the refund, return the undone refund', async () => {
      const order = await anOrderThatRedeemed();
      const body = { external_id: 'DEV-AGAIN', amount: '40.00', reason: 'Mistake' };
      const refund = await merchant.refund(order, '40.00', body);
      const undone = await merchant.voidRefund(refund);
      expect(await merchant.voidRefund(refund, { reason: 'other' }).replayed()).toEqual(undone);
      expect(await merchant.refund(order, '40.00', body).replayed()).toEqual(undone);
      await merchant
        .refund(order, '41.00', { ...body, amount: '41.00' })
        .refused(409, 'external_id_conflict', ['/amount']);
      expect((await merchant.refunds(order)).data).toEqual([undone]);
      expect(await merchant.get('/refunds?limit=100')).toMatchObject({ data: expect.arrayContaining([undone]) });
    });

    it('a void returns 400 for a reason that is too long, and for another member', async () => {
      const refund = await merchant.refund(await anOrderThatRedeemed(), '50.00');
      await merchant.voidRefund(refund, { reason: 'x'.repeat(501) }).refused(400, 'validation_failed', ['/reason']);
      await merchant.voidRefund(refund, { amount: '1.00' }).refused(400, 'validation_failed', ['/amount']);
    });

    it('beside a void at the same time, another refund is made, and either it or nothing is undone', async () => {
      const order = await anOrderThatRedeemed();
      for (let round = 0; round < 5; round++) {
        const made = await merchant.refund(order, '10.00');
        const [undone, next] = await Promise.all([
          merchant.voidRefund(made).answer,
          merchant.refund(order, '5.00').answer,
        ]);
        expect(next.status).toBe(201);
        expect([200, 409]).toContain(undone.status);
      }
    });

    it('after an erasure a refund can be undone, and its reason is gone', async () => {
      const order = await anOrderThatRedeemed();
      const refund = await merchant.refund(order, '50.00', { external_id: 'DEV-E', reason: 'Ana called' });
      await merchant.voidRefund(refund, { reason: 'Ana was wrong' });
      await merchant.erase(order.document);
      expect(await merchant.readRefund(refund)).toMatchObject({ reason: null, void_reason: null });
      await merchant.refund(order, '50.00', { external_id: 'DEV-E', reason: 'Ana called' }).replayed();
      await merchant
        .refund(order, '50.00', { external_id: 'DEV-E', reason: 'Bia' })
        .refused(409, 'external_id_conflict');
      const second = await merchant.refund(order, '10.00');
      expect((await merchant.voidRefund(second)).voided_at).not.toBeNull();
    });
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
