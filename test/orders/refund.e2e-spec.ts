import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { expectCreation, expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { withoutVoidable } from '../support/event-refund.js';
import { eventsOf } from '../support/events.js';
import { aDocument, aMerchant } from '../support/factories.js';
import type { Members, Order, Refund } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

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

  it('concurrent refunds never exceed the total of the order', async () => {
    const order = await anOrderOf('100.00', '10.00');
    const answers = await atOnce(25, () => refund(order, '6.00'));
    const done = answers.filter(({ status }) => status === 201);
    expect(done).toHaveLength(16);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expectProblem(answer, 422, 'refund_exceeds_total');
      expect(answer.body).toMatchObject({ maximum: '4.00' });
    }
    expect((await refund(order, '4.00')).body.amount_to_pay_back).toEqual(expect.any(String));
    expect(await merchant.wallet(order.document)).toMatchObject({
      available: '10.00',
      pending: '0.00',
      debt: '0.00',
    });
  });
});

describe('a repeated POST /orders/{id}/refunds', () => {
  it('a repeated POST /orders/{id}/refunds returns 201 with the same refund and Idempotency-Replayed: true', async () => {
    const order = await anOrderOf('150.00', '15.00');
    const { body } = await refund(order, '50.00', 'DEV-1');
    await refund(order, '100.00', 'DEV-2');
    for (const amount of ['50.00', '50', '50.0']) {
      const again = await refund(order, amount, 'DEV-1');
      // Only the last refund of an order can be undone.
      expect(again).toMatchObject({ status: 201, body: { ...body, voidable: false } });
      expect(again.headers.get('idempotency-replayed')).toBe('true');
    }
    expect((await merchant.order(order)).refunded.amount).toBe('150.00');
  });

  it('POST /orders/{id}/refunds returns 409 with a pointer to the amount when only the amount differs', async () => {
    const order = await anOrderOf('150.00', '0.00');
    const { body: refunded } = await refund(order, '50.00', 'DEV-1');
    for (const amount of ['50.01', '999.00']) {
      const answer = await refund(order, amount, 'DEV-1');
      expectProblem(answer, 409, 'external_id_conflict');
      expect(answer.body).toMatchObject({ existing_id: refunded.id, next_action: 'read_existing' });
      expect(pointersOf(answer)).toEqual(['/amount']);
    }
    expect((await merchant.order(order)).refunded.amount).toBe('50.00');
  });

  it('only one of 25 concurrent POST /orders/{id}/refunds requests with different amounts creates the refund', async () => {
    const order = await anOrderOf('150.00', '15.00');
    const answers = await atOnce(25, (index) => refund(order, `${index + 1}.00`, 'DEV-1'));
    const [won, ...others] = answers.filter(({ status }) => status === 201);
    expect(others).toEqual([]);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expectProblem(answer, 409, 'external_id_conflict');
    expect((await merchant.order(order)).refunded.amount).toBe(won?.body.amount);
  });

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

  it('POST /orders/{id}/refunds returns 404 for an order of another merchant, also for a replay', async () => {
    const other = await aMerchant(service);
    const order = await anOrderOf('150.00', '0.00');
    await refund(order, '50.00', 'DEV-1');
    for (const id of ['DEV-1', 'DEV-2']) {
      await other.refund(order, '50.00', { external_id: id }).refused(404, 'not_found');
    }
    expect((await merchant.order(order)).refunded.amount).toBe('50.00');
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

  it('a refund of an amount is repeated as one, and not as one of items', async () => {
    const order = await aCart('100.00', [['a', '100.00', 2]]);
    await merchant.refund(order, '50.00', { external_id: 'DEV-1' });
    const answer = await refundItems(order, of('a', 1), 'DEV-1').answer;
    expectProblem(answer, 409, 'external_id_conflict');
    expect(pointersOf(answer)).toEqual(['/amount', '/items']);
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

  it('an order of another merchant is not found, and another version is refused', async () => {
    const order = await aCart('100.00', [['a', '100.00']]);
    const body = { external_id: 'DEV-1', ...of('a') };
    const other = await aMerchant(service);
    await other.post(`/orders/${order.id}/refunds`, body).refused(404, 'not_found');
    const stale = { headers: { 'if-match': '"1"' } };
    await merchant.refund(order, undefined, body, stale).refused(412, 'precondition_failed');
    expect((await refundItems(order, of('a'))).amount).toBe('100.00');
  });
});
