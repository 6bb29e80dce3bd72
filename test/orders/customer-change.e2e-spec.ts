import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { aCart, type Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';

// Some tests move the clock by days.
const { service, merchant } = useService({
  merchant: (started) => aLongLivedMerchant(started, { releaseDays: 0, validityDays: 10, redeemShareBps: 10_000 }),
});

/** Holds cashback of a customer for another order. */
const hold = async (document: string, amount: string): Promise<Order> =>
  merchant.hold(await merchant.create({ document, total: '15.00' }), amount);

const balanceOf = async (document: string): Promise<object> => {
  const { available, pending, held, debt } = await merchant.wallet(document);
  return { available, pending, held, debt };
};
const of = (amounts: object): object => ({
  ...{ available: '0.00', pending: '0.00', held: '0.00', debt: '0.00' },
  ...amounts,
});

describe('PUT /orders/{id}/customer', () => {
  it('PUT /orders/{id}/customer moves the earned cashback with its dates, and the order has the other customer', async () => {
    const order = await merchant.completed({ store: 'SP-014' });
    const document = aDocument();
    const before = (await merchant.credits(await merchant.wallet(order.document))).data[0]!;
    const changed = await merchant.changeCustomer(order, document);
    expect(changed).toMatchObject({
      ...{ moved: '7.50', not_moved: '0.00', reason: 'Typed wrongly at the till', created_by: merchant.by },
      order: { id: order.id, document, version: 3, status: 'completed', cashback: { to_receive: { amount: '7.50' } } },
    });
    expect(await merchant.order(order)).toEqual(changed.order);
    expect(changed.created_at).toBe(changed.order.updated_at);
    expect(await merchant.movements(order.document)).toEqual(['earn 7.50', 'move_out -7.50']);
    expect(await merchant.movements(document)).toEqual(['move_in 7.50']);
    const { id, ...credit } = (await merchant.credits(await merchant.wallet(document))).data[0]!;
    expect({ ...credit, id: before.id }).toEqual(before);
    expect(id).not.toBe(before.id);
    expect((await merchant.statement(document))[0]).toMatchObject({
      store: 'SP-014',
      by: merchant.by,
      order_id: order.id,
    });
    const [event] = (await eventsOf(service, merchant)).slice(-1);
    expect(event).toMatchObject({
      ...{ type: 'order.customer_changed', by: merchant.by },
      data: {
        order: { id: order.id, version: 3, document },
        wallet: { document, available: '7.50' },
        previous_wallet: { document: order.document, available: '0.00' },
      },
    });
    expect((await merchant.searchOrders({ document: order.document })).data).toEqual([]);
    expect((await merchant.searchOrders({ document })).data).toEqual([changed.order]);
    expect(await merchant.refund(order, '150.00')).toMatchObject({ cashback_taken_back: '7.50' });
    expect(await balanceOf(document)).toEqual(of({}));
    expect(await balanceOf(order.document)).toEqual(of({}));
  });

  it('an order that earned nothing, or what it earned has expired, gets another customer with a wallet', async () => {
    const order = await merchant.completed({ total: '0.05' });
    const document = aDocument();
    expect(await merchant.changeCustomer(order, document)).toMatchObject({ moved: '0.00', not_moved: '0.00' });
    expect((await merchant.wallet(document)).id).not.toBeNull();
  });
});

describe('a repeated PUT /orders/{id}/customer', () => {
  it('PUT /orders/{id}/customer returns the same again, also with another reason, and 409 for another document', async () => {
    const order = await merchant.completed();
    const document = aDocument();
    const changed = await merchant.changeCustomer(order, document).changed();
    expect(changed.order.operations).toEqual(['refund']);
    const events = (await eventsOf(service, merchant)).length;
    expect(await merchant.changeCustomer(order, document).replayed()).toEqual(changed);
    const another = { body: { document, reason: 'Another' } };
    expect(await merchant.send('PUT', `/orders/${order.id}/customer`, another, 200).replayed()).toEqual(changed);
    for (const other of [order.document, aDocument()]) {
      const problem = await merchant.changeCustomer(order, other).refused(409, 'invalid_transition');
      expect(problem.detail).toContain('possible once');
    }
    expect((await eventsOf(service, merchant)).length).toBe(events);
    const refund = await merchant.refund(order, '150.00');
    expect(refund.cashback_taken_back).toBe('7.50');
    const { order: refunded, ...same } = changed;
    expect(await merchant.changeCustomer(order, document).replayed()).toEqual({
      ...same,
      order: await merchant.order(order),
    });
    expect(refunded.status).toBe('completed');
  });

  it('POST /orders and the completion of an order whose customer was corrected still replay', async () => {
    const content = { external_id: aDocument(), document: aDocument() };
    const order = await merchant.completed(content);
    const document = aDocument();
    const { order: changed } = await merchant.changeCustomer(order, document);
    expect(await merchant.complete(order)).toEqual(changed);
    const sent = { ...aCart('150.00', content), items: order.items.map(({ quantity: _, ...item }) => item) };
    expect(await merchant.create(sent).replayed()).toEqual(changed);
    expect(await merchant.create({ ...sent, document }).replayed()).toEqual(changed);
  });

  it('a repetition of a correction is no 412, whatever version it names', async () => {
    const order = await merchant.completed();
    const document = aDocument();
    const changed = await merchant.changeCustomer(order, document);
    for (const version of [1, 2, 3])
      expect(await merchant.changeCustomer(order, document, { headers: { 'if-match': `"${version}"` } })).toEqual(
        changed,
      );
  });
});

describe('PUT /orders/{id}/customer errors', () => {
  it('PUT /orders/{id}/customer returns 409 with what to do for an order that redeemed cashback', async () => {
    const document = await merchant.customerWith('20.00');
    const order = await merchant.completed({ document }, { redeem: '0.01' });
    const other = aDocument();
    expect(order.operations).toEqual(['refund']);
    const problem = await merchant
      .changeCustomer(order, other)
      .refused(409, 'invalid_transition', { operations: ['refund'] });
    expect(problem.detail).toContain('only a full refund and a new order correct that');
    expect((await merchant.wallet(other)).id).toBeNull();
  });

  it('PUT /orders/{id}/customer returns 409 with the orders that hold what it earned, until they release it', async () => {
    const order = await merchant.completed();
    const [first, second, none] = [
      await hold(order.document, '2.00'),
      await hold(order.document, '1.00'),
      await merchant.create({ document: order.document }),
    ];
    const other = aDocument();
    const namesOf = (...orders: Order[]) => orders.map(({ id, external_id }) => ({ id, external_id }));
    const refused = (...orders: Order[]) => {
      const members = { held_by: namesOf(...orders), next_action: 'read_existing', retryable: false };
      return merchant.changeCustomer(order, other).refused(409, 'cashback_held', members);
    };
    for (const _attempt of ['first', 'repeated'])
      expect((await refused(first, second)).detail).toContain(`${first.external_id}, ${second.external_id}`);
    expect((await merchant.wallet(other)).id).toBeNull();
    expect(await merchant.order(order)).toMatchObject({ document: order.document, version: order.version });
    await merchant.hold(first, '0.00');
    await refused(second);
    // 404, 400, `invalid_transition` and 412 come first.
    await merchant
      .changeCustomer(order, other, { headers: { 'if-match': '"1"' }, body: { document: other, reason: 'x' } })
      .refused(412, 'precondition_failed');
    await merchant.changeCustomer(order, order.document).refused(400, 'validation_failed', ['/document']);
    // It also holds after midnight.
    await merchant.hold(second, '1.00', service.clock.inMinutes(10_000).toISOString());
    await merchant.complete(second, { redeem: '0.00' });
    const changed = await merchant.changeCustomer(order, other);
    expect(changed).toMatchObject({ moved: '7.50', not_moved: '0.00' });
    // What holds other cashback of either customer is in no way.
    await merchant.credit(order.document, '5.00');
    await merchant.hold(none, '5.00');
    await hold(other, '7.50');
    expect(await merchant.changeCustomer(order, other)).toMatchObject({
      moved: '7.50',
      created_at: changed.created_at,
    });
  });

  it('PUT /orders/{id}/customer names at most 10 of the orders that hold what it earned', async () => {
    const order = await merchant.completed();
    for (let n = 0; n < 12; n++) await hold(order.document, '0.10');
    const { held_by } = await merchant.changeCustomer(order, aDocument()).refused(409, 'cashback_held');
    expect(held_by).toHaveLength(10);
  });

  it.each<[string, object, string]>([
    ['no reason', { document: '52998224725' }, '/reason'],
    ['an empty reason', { document: '52998224725', reason: ' ' }, '/reason'],
    ['no document', { reason: 'Typed wrongly' }, '/document'],
    ['a document that is too short', { document: '123', reason: 'Typed wrongly' }, '/document'],
    ['a reason that is too long', { document: '52998224725', reason: 'x'.repeat(501) }, '/reason'],
    ['another member', { document: '52998224725', reason: 'x', amount: '1.00' }, '/amount'],
  ])('PUT /orders/{id}/customer returns 400 for %s', async (_, body, pointer) => {
    const order = await merchant.completed();
    await merchant.put(`/orders/${order.id}/customer`, body).refused(400, 'validation_failed', [pointer]);
    expect(await merchant.order(order)).toEqual(order);
  });

  it('PUT /orders/{id}/customer returns 400 for the document that the order has', async () => {
    const order = await merchant.completed();
    await merchant.changeCustomer(order, order.document).refused(400, 'validation_failed', ['/document']);
  });
});

describe('corrections of erased customers', () => {
  it('an order of an erased customer can get the right one, and the pseudonym is no document', async () => {
    const order = await merchant.completed();
    const { pseudonym } = await merchant.erase(order.document);
    const document = aDocument();
    const changed = await merchant.changeCustomer(order, document);
    expect(changed).toMatchObject({ moved: '7.50', order: { document } });
    const other = await merchant.completed();
    await merchant.changeCustomer(other, pseudonym).refused(400, 'validation_failed', ['/document']);
  });

  it('an erasure of the second customer removes the reason, and a repetition brings the document back nowhere', async () => {
    const order = await merchant.completed();
    const document = aDocument();
    await merchant.changeCustomer(order, document);
    const { pseudonym } = await merchant.erase(document);
    await merchant.changeCustomer(order, document).refused(409, 'invalid_transition', { operations: ['refund'] });
    expect((await merchant.wallet(document)).id).toBeNull();
    expect(await merchant.order(order)).toMatchObject({ customer_change_reason: null });
    expect(await merchant.order(order)).toMatchObject({ document: pseudonym });
    expect(await merchant.refund(order, '150.00')).toMatchObject({ cashback_taken_back: '7.50' });
  });

  it('an erasure of the first customer removes the reason, and the order keeps the second one', async () => {
    const order = await merchant.completed();
    const document = aDocument();
    const { order: changed } = await merchant.changeCustomer(order, document);
    await merchant.erase(order.document);
    expect(changed).toMatchObject({ customer_changed_by: merchant.by, customer_change_reason: expect.any(String) });
    expect(await merchant.order(order)).toEqual({ ...changed, customer_change_reason: null });
    expect(await merchant.changeCustomer(order, document)).toMatchObject({ reason: null, moved: '7.50' });
  });
});

describe('corrections of a customer at the same time as other requests', () => {
  it('corrections of two orders between the same two customers, in both directions at once, all happen', async () => {
    const [one, other] = [aDocument(), aDocument()];
    await merchant.credit(one, '1.00');
    const orders: Order[] = [];
    for (let n = 0; n < 10; n++) orders.push(await merchant.completed({ document: n % 2 ? one : other }));
    await atOnce(10, (at) => merchant.changeCustomer(orders[at]!, at % 2 ? other : one));
    expect(await balanceOf(one)).toEqual(of({ available: '38.50' }));
    expect(await balanceOf(other)).toEqual(of({ available: '37.50' }));
  });

  it('of a hold and a correction at once, the correction is refused or the hold finds nothing', async () => {
    for (let round = 0; round < 6; round++) {
      const order = await merchant.completed();
      const holding = await merchant.create({ document: order.document, total: '15.00' });
      const document = aDocument();
      const [changed, held] = await Promise.all([
        merchant.changeCustomer(order, document).answer,
        merchant.hold(holding, '2.00').answer,
      ]);
      expect([changed.status, held.status]).toEqual(held.status === 200 ? [409, 200] : [200, 422]);
      const { id } = holding;
      expect(changed.body).toMatchObject(held.status === 200 ? { code: 'cashback_held', held_by: [{ id }] } : {});
      expect(await balanceOf(document)).toEqual(of(held.status === 200 ? {} : { available: '7.50' }));
    }
  });

  it('refunds, holds and sweeps at the same time as a correction: nothing is minted, and nobody owes for what did not move', async () => {
    for (let round = 0; round < 6; round++) {
      const order = await merchant.completed();
      const holding = await merchant.create({ document: order.document, total: '15.00' });
      const document = aDocument();
      if (round % 3 === 2) service.clock.skip(10 * 86_400_000);
      const [changed] = await Promise.all([
        merchant.changeCustomer(order, document).answer,
        merchant.refund(order, '75.00'),
        merchant.hold(holding, '2.00').answer,
        merchant.refund(order, '15.00'),
        service.clock.sweep(),
      ]);
      const refunded = await merchant.refund(order, '60.00');
      expect(refunded).toMatchObject({ amount: '60.00' });
      expect(changed.body).toMatchObject(
        changed.status === 409 ? { code: 'cashback_held' } : { order: { id: order.id } },
      );
      const customer = changed.status === 409 ? order.document : document;
      expect(await merchant.order(order)).toMatchObject({ status: 'refunded', document: customer });
      // In any order, the second customer got no more than what refunds took back again.
      expect(await balanceOf(document)).toEqual(of({}));
    }
  });

  it('an erasure of either customer at the same time as a correction leaves no document of the erased one', async () => {
    for (const isFirst of [true, false, true, false]) {
      const order = await merchant.completed();
      const document = aDocument();
      if (!isFirst) await merchant.credit(document, '1.00');
      const erased = isFirst ? order.document : document;
      const [sent] = await Promise.all([merchant.changeCustomer(order, document).answer, merchant.erase(erased)]);
      expect(sent.status).toBe(200);
      await merchant.erase(erased);
      expect((await merchant.searchOrders({ document: erased })).data).toEqual([]);
      expect((await merchant.wallet(erased)).id).toBeNull();
    }
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
