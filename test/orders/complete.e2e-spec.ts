import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { eventsOf } from '../support/events.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { aCart, oneAtOnce, type Order, type Refund } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf, startOfDayAfter } from '../support/wallets.js';

const { service, merchant } = useService({
  merchant: (started) => aLongLivedMerchant(started, { earnRatesByPaymentMethod: { pix: 700 } }),
});

describe('POST /orders/{id}/complete', () => {
  it('POST /orders/{id}/complete grants the cashback as pending until its release date', async () => {
    const order = await merchant.create();
    await service.clock.advance({ minutes: 5 });
    const body = await merchant.complete(order);
    expect(body).toMatchObject({
      id: order.id,
      status: 'completed',
      cashback: {
        to_redeem: { maximum: '0.00', limited_by: null, held: '0.00', redeemed: '0.00' },
        to_receive: {
          amount: '7.50',
          taken_back: '0.00',
          status: 'pending',
          available_at: startOfDayAfter(body.completed_at, 8),
          expires_at: startOfDayAfter(body.completed_at, 188),
        },
      },
      refunded: { amount: '0.00', amount_to_pay_back: '0.00' },
      cancelled_at: null,
    });
    expect(Date.parse(body.completed_at!) - Date.parse(body.created_at)).toBeGreaterThanOrEqual(5 * 60_000);
    expect(await merchant.wallet(order.document)).toMatchObject({
      available: '0.00',
      pending: '7.50',
      next_release: { amount: '7.50', at: body.cashback.to_receive.available_at },
      next_expiry: null,
    });
    expect(await merchant.order(order)).toEqual(body);
  });

  it('POST /orders/{id}/complete redeems the held cashback', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    const body = await merchant.complete(order);
    expect(body.cashback).toMatchObject({
      to_redeem: { available: '60.00', held: '0.00', redeemed: '20.00' },
      to_receive: { amount: '6.50' },
    });
    expect(await merchant.movements(order.document)).toEqual(['grant 80.00', 'redeem -20.00', 'earn 6.50']);
  });
});

describe('POST /orders/{id}/complete errors', () => {
  it('POST /orders/{id}/complete returns 422 and changes nothing when the redemption exceeds the maximum', async () => {
    const order = await merchant.orderWith('80.00');
    for (const _attempt of ['first', 'second']) {
      const problem = await merchant
        .complete(order, { redeem: '75.01' })
        .refused(422, 'redemption_exceeds_maximum', { maximum: '75.00', limited_by: 'order_share' });
      expect(problem.errors).toEqual([{ pointer: '/redeem', detail: 'must be at most 75.00' }]);
    }
    expect(await merchant.order(order)).toEqual(order);
    await merchant.complete(order, { redeem: '75.00' });
  });

  it.each([
    ['the amount in redeem', { redeem: '20.00' }],
    ['the held amount', {}],
  ])(
    'POST /orders/{id}/complete returns 422 and changes nothing when payment methods and %s exceed the total by a centavo',
    async (_what, members) => {
      const order = await merchant.orderWith('80.00');
      await merchant.hold(order, '20.00');
      const pending = await merchant.order(order);
      const paying = (...amounts: string[]): object => ({
        ...members,
        payment_methods: amounts.map((amount) => ({ id: 'pix', amount })),
      });
      for (const _attempt of ['first', 'second']) {
        await merchant.complete(order, paying('100.00', '30.01')).refused(422, 'payments_exceed_total', {
          ...{ total: '150.00', redeemed: '20.00', payments: '130.01' },
          errors: [{ pointer: '/payment_methods', detail: 'must add up to at most 130.00 if 20.00 is redeemed' }],
        });
      }
      expect(await merchant.order(order)).toEqual(pending);
      const body = await merchant.complete(order, paying('100.00', '30.00'));
      expect(body).toMatchObject({ amount_to_pay: '130.00' });
      expect(await merchant.complete(order, paying('100.00', '30.00'))).toMatchObject(body);
    },
  );

  it('POST /orders/{id}/complete does not compare the payment methods of the creation with what is redeemed', async () => {
    const order = await merchant.orderWith('80.00', { payment_methods: [{ id: 'pix', amount: '150.00' }] });
    const body = await merchant.complete(order, { redeem: '20.00' });
    expect(body).toMatchObject({ amount_to_pay: '130.00', payment_methods: [{ id: 'pix', amount: '150.00' }] });
  });

  it('POST /orders/{id}/complete returns 400 with every validation error at once', async () => {
    const order = await merchant.create();
    await merchant
      .complete(order, {
        redeem: 20,
        payment_methods: [null, { id: '', amount: '0.00' }, { id: 'pix', amount: '1.00' }],
      })
      .refused(400, 'validation_failed', [
        '/payment_methods/0',
        '/payment_methods/1/amount',
        '/payment_methods/1/id',
        '/redeem',
      ]);
    await merchant.complete(order, []).refused(400, 'validation_failed');
    expect(await merchant.order(order)).toEqual(order);
  });
});

describe('POST /orders/{id}/cancel', () => {
  it('POST /orders/{id}/cancel releases the hold and grants no cashback', async () => {
    const order = await merchant.orderThatHolds('20.00');
    const body = await merchant.cancel(order);
    expect(body).toMatchObject({
      id: order.id,
      status: 'cancelled',
      completed_at: null,
      cancelled_at: expect.any(String),
      cashback: {
        to_redeem: { available: '80.00', maximum: '0.00', limited_by: null, held: '0.00', redeemed: '0.00' },
        to_receive: { amount: '0.00', taken_back: '0.00', status: 'none', available_at: null, expires_at: null },
      },
    });
    expect(await merchant.wallet(order.document)).toMatchObject({
      available: '80.00',
      held: '0.00',
      pending: '0.00',
    });
    expect(await merchant.order(order)).toEqual(body);
  });

  it('POST /orders/{id}/cancel succeeds for an expired order', async () => {
    const order = await merchant.orderThatHolds('20.00');
    await service.clock.advance({ minutes: 30 });
    expect((await merchant.order(order)).status).toBe('expired');
    const body = await merchant.cancel(order).changed();
    expect(body).toMatchObject({ status: 'cancelled' });
    expect(await merchant.cancel(order).replayed()).toEqual(body);
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '80.00', held: '0.00' });
  });
});

const ordersWith = (external_id: string) =>
  rowsOf(service, 'SELECT id FROM orders WHERE merchant_id = ? AND external_id = ?', [
    merchant.id,
    Buffer.from(external_id),
  ]);

describe('POST /orders with complete', () => {
  it('POST /orders with complete creates and completes an order, as two requests would', async () => {
    const document = await merchant.customerWith('30.00');
    const complete = { redeem: '20.00', payment_methods: [{ id: 'pix', amount: '130.00' }] };
    const one = await merchant.sell({ document, store: 'SP-014' }, complete).changed();
    const other = await merchant.customerWith('30.00');
    const two = await merchant.completed({ document: other, store: 'SP-014' }, complete);
    const same = ({ status, version, cashback, payment_methods, amount_to_pay, store }: Order): object => ({
      ...{ status, version, to_redeem: cashback.to_redeem, amount: cashback.to_receive.amount },
      ...{ payment_methods, amount_to_pay, store },
    });
    expect(same(one)).toEqual(same(two));
    expect(one).toMatchObject({ status: 'completed', version: 2, completed_by: merchant.by, created_by: merchant.by });
    expect(await merchant.order(one)).toEqual(one);
    expect(await merchant.movements(document)).toEqual(await merchant.movements(other));
    const types =
      ({ id }: Order) =>
      async (): Promise<string[]> =>
        (await eventsOf(service, merchant)).filter(({ data }) => data.order?.id === id).map(({ type }) => type);
    expect(await types(one)()).toEqual(['order.created', 'order.completed']);
    expect(await types(two)()).toEqual(['order.created', 'order.completed']);
  });

  it('POST /orders with an empty complete redeems nothing, and with null creates a pending order', async () => {
    const document = await merchant.customerWith('30.00');
    expect(await merchant.sell({ document })).toMatchObject({
      ...{ status: 'completed', cashback: { to_redeem: { redeemed: '0.00' }, to_receive: { amount: '7.50' } } },
    });
    expect(await merchant.sell({ document }, null)).toMatchObject({ status: 'pending', version: 1 });
  });

  it('a sale of an order that was amended since returns 409, because it would complete something else', async () => {
    const body = anOrder();
    const order = await merchant.create(body);
    // What is eligible is the same as before, so it is not named.
    await merchant.amend(order, { ...aCart('200.00'), eligible_total: '150.00' });
    await merchant
      .create({ ...body, complete: {} })
      .refused(409, 'external_id_conflict', [
        '/items/0/description',
        '/items/0/id',
        '/items/0/price',
        '/payment_methods/0/amount',
        '/total',
      ]);
    await merchant.create(body).replayed();
    const amended = { ...body, ...aCart('200.00'), eligible_total: '150.00' };
    expect(await merchant.create({ ...amended, complete: {} }).changed()).toMatchObject({ status: 'completed' });
  });

  it('a sale of an order that was amended for a customer who was erased returns 409', async () => {
    const [body, document] = [anOrder(), aDocument()];
    const order = await merchant.create(body);
    await merchant.amend(order, { ...aCart('150.00'), document });
    await merchant.erase(document);
    await merchant.create({ ...body, complete: {} }).refused(409, 'external_id_conflict', {
      errors: expect.arrayContaining([expect.objectContaining({ pointer: '/document' })]),
    });
    expect((await merchant.order(order)).status).toBe('pending');
  });

  it('a sale of an order whose customer was erased before it completes that order', async () => {
    const body = anOrder();
    await merchant.create(body);
    await merchant.erase(body.document);
    expect(await merchant.create({ ...body, complete: {} }).changed()).toMatchObject({ status: 'completed' });
  });

  it.each([
    ['422', 'redemption_exceeds_maximum', { redeem: '0.01' }, ['/complete/redeem']],
    ['422', 'redemption_exceeds_maximum', { redeem: '75.01' }, ['/complete/redeem']],
    [
      ...(['422', 'payments_exceed_total', { payment_methods: [{ id: 'pix', amount: '150.01' }] }] as const),
      ['/complete/payment_methods'],
    ],
    ['400', 'validation_failed', { redeem: '1,00' }, ['/complete/redeem']],
    ['400', 'validation_failed', { payment_methods: [{ id: 'pix' }] }, ['/complete/payment_methods/0/amount']],
    ['400', 'validation_failed', { color: 'red' }, ['/complete/color']],
    ['400', 'validation_failed', [], ['/complete']],
  ])('a refused sale (%s %s for %j) leaves nothing, and its external_id can be used again', async (...row) => {
    const [status, code, complete, pointers] = row;
    const body = anOrder({ complete });
    await merchant.create(body).refused(Number(status), code, pointers);
    expect(await ordersWith(body.external_id)).toEqual([]);
    expect((await merchant.wallet(body.document)).id).toBeNull();
    expect(
      await merchant.create({ ...body, total: '99.00', payment_methods: [], complete: {} }).changed(),
    ).toMatchObject({ status: 'completed', total: '99.00' });
  });

  it('a sale needs the permission to sell, and another merchant has the external_id for itself', async () => {
    const body = anOrder({ complete: {} });
    const other = await aMerchant(service);
    const reader = await aUser(service, merchant.id, ['reports']);
    await reader.create(body).refused(403, 'forbidden', { permission: 'sell' });
    const [own, others] = [await merchant.create(body).changed(), await other.create(body).changed()];
    expect(own.id).not.toBe(others.id);
    expect((await other.wallet(body.document)).pending).toBe('7.50');
  });

  it('of sales at the same time that together redeem too much, some are refused, and no order is left of those', async () => {
    const document = await merchant.customerWith('20.00');
    const bodies = Array.from({ length: 8 }, () => anOrder({ document, complete: { redeem: '20.00' } }));
    const sold = await oneAtOnce(8, (at) => merchant.create(bodies[at]), 422, {
      ...{ code: 'redemption_exceeds_maximum', maximum: '0.00', limited_by: 'balance' },
    });
    const counts = await Promise.all(bodies.map(async ({ external_id }) => (await ordersWith(external_id)).length));
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(1);
    expect((await merchant.wallet(document)).available).toBe('0.00');
    expect(sold.cashback.to_redeem.redeemed).toBe('20.00');
  });

  it('a sale and the two requests of the same order at the same time sell it once', async () => {
    for (let round = 0; round < 5; round++) {
      const document = aDocument();
      const body = anOrder({ document });
      const twice = async (): Promise<Order> => merchant.complete(await merchant.create(body));
      const sell = async (): Promise<Order> => merchant.create({ ...body, complete: {} });
      const sold = await Promise.all([twice(), sell(), twice(), sell()]);
      expect(new Set(sold.map(({ id }) => id)).size).toBe(1);
      expect(await merchant.movements(document)).toEqual(['earn 7.50']);
    }
  });

  it('sales with up to 500 items each share transactions', async () => {
    const items = Array.from({ length: 500 }, (_, at) => ({
      id: `sku-${at}`,
      price: '1.00',
      description: 'x'.repeat(200),
    }));
    const sold = await Promise.all(
      Array.from({ length: 12 }, () => merchant.sell({ items, total: '500.00', payment_methods: [] }).changed()),
    );
    expect(sold.map(({ status }) => status)).toEqual(Array(12).fill('completed'));
  });
});

interface Edge {
  from: string;
  to: string;
  /** Undefined for what time does. */
  operation: string | undefined;
}

/** The transitions in the diagram of README.md. */
const LABELED = Array.from(
  readFileSync('README.md', 'utf8').matchAll(/^ +(\w+) --> (\w+): (.+)$/gm),
  ([, from = '', to = '', label = '']) => ({ from, to, label }),
);
/** What undoes a refund is an operation of the refund, which its `voidable` offers, and not of the order. */
const isVoid = ({ label }: { label: string }): boolean => label.startsWith('POST …/void');
const EDGES = LABELED.filter((edge) => !isVoid(edge)).map(({ from, to, label }): Edge => {
  const name = /\((\w+)\)$/.exec(label)?.[1] ?? /^POST ….(\w+?)s?$/.exec(label)?.[1];
  return { from, to, operation: label === 'expires_at passes' ? undefined : (name ?? `unknown: ${label}`) };
});
const VOIDS = LABELED.filter(isVoid).map(({ from, to }) => `${from} --> ${to}`);
/** They change an order that keeps its status. */
const WITHOUT_A_STATUS = ['hold', 'amend', 'change_customer'];

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort();

describe('the lifecycle of an order', () => {
  it('undoing the refunds of an order takes it through the statuses of the diagram', async () => {
    const seen: string[] = [];
    const undo = async (...amounts: string[]): Promise<void> => {
      const order = await merchant.completed();
      const refunds: Refund[] = [];
      for (const amount of amounts) refunds.unshift(await merchant.refund(order, amount));
      for (const refund of refunds) {
        const { status: from } = await merchant.order(order);
        await merchant.voidRefund(refund);
        seen.push(`${from} --> ${(await merchant.order(order)).status}`);
      }
    };
    await undo('1.00', '2.00', '147.00');
    await undo('150.00');
    expect(sorted(seen)).toEqual(sorted(VOIDS));
  });

  it.each([
    ['pending', [], 'refunds'],
    ['expired', [], 'refunds'],
    ['completed', ['complete'], 'cancel'],
    ['cancelled', ['cancel'], 'complete'],
    ['partially_refunded', ['complete', '1.00'], 'cancel'],
    ['refunded', ['complete', '150.00'], 'cancel'],
  ])('the operations and the allowed statuses of a 409 for a %s order are those of the diagram', async (...of) => {
    const [status, path, refused] = of;
    const order = await merchant.create();
    const refund = (external_id: string, amount: string) => ({ external_id, amount });
    const post = (operation: string, body: unknown = {}) =>
      merchant.client.post(`/orders/${order.id}/${operation}`, body);
    for (const step of path) await (/^\d/.test(step) ? post('refunds', refund('DEV-1', step)) : post(step));
    if (status === 'expired') await service.clock.advance({ minutes: 30 });
    const answer = await post(refused, refused === 'refunds' ? refund('DEV-1', '1.00') : {});
    expectProblem(answer, 409, 'invalid_transition');
    const edges = EDGES.filter(({ from, operation }) => from === status && operation !== undefined);
    const setting = edges.filter(({ operation = '' }) => !WITHOUT_A_STATUS.includes(operation));
    expect({
      status: answer.body.current_status,
      operations: sorted(answer.body.operations as string[]),
      allowed: sorted(answer.body.allowed as string[]),
    }).toEqual({
      status,
      operations: sorted(edges.map(({ operation = '' }) => operation)),
      allowed: sorted(setting.map(({ to }) => to)),
    });
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
