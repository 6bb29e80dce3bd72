import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, aUser } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Order, Refund } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({
  merchant: (started) => aLongLivedMerchant(started, { redeemShareBps: 10_000, releaseDays: 0 }),
});
afterEach(() => expectInvariants(service));

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
  it('the lines of a refund that is undone are those of the refund, one for each step of it', async () => {
    const document = await merchant.customerWith('5.00', { expiresAt: service.clock.inDays(20) });
    await merchant.credit(document, '15.00', { expiresAt: service.clock.inDays(30) });
    const order = await merchant.completed({ document, total: '600.00' }, { redeem: '20.00' });
    await merchant.completed({ document, total: '100.00' }, { redeem: '29.00' });
    const refund = await merchant.refund(order, '600.00');
    expect((await merchant.wallet(document)).debt).not.toBe('0.00');
    await merchant.voidRefund(refund);
    const { id } = await merchant.wallet(document);
    const lines = (await merchant.entries({ id }, 'by=change')).data.toReversed();
    const own = lines.filter(({ refund_id }) => refund_id === refund.id);
    expect(own.map(({ kind, amount }) => `${kind} ${amount}`)).toEqual([
      ...['return 20.00', 'take_back -23.55', 'debt 5.45'],
      ...['take_back 23.55', 'return -20.00', 'debt -5.45'],
    ]);
  });

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

  it('a void restores what a new credit, other credits, a debt and a claim had', async () => {
    // What returns becomes a new credit of seven days.
    const document = await merchant.customerWith('20.00', { expiresAt: service.clock.inDays(1) });
    const short = await merchant.completed({ document, total: '100.00' }, { redeem: '20.00' });
    await service.clock.advance({ days: 2 });
    await expectUndone(short, '100.00');
    // Other credits and a debt.
    const other = aDocument();
    const order = await merchant.completed({ document: other, total: '400.00' });
    await merchant.completed({ document: other, total: '20.00', payment_methods: [] }, { redeem: '20.00' });
    await merchant.credit(other, '5.00', { expiresAt: service.clock.inDays(3) });
    await expectUndone(order, '400.00');
    // A claim on what another order holds.
    const third = aDocument();
    const earned = await merchant.completed({ document: third, total: '200.00' });
    const holding = await merchant.hold(await merchant.create({ document: third, total: '50.00' }), '6.00');
    await expectUndone(earned, '200.00');
    await merchant.cancel(holding);
    expect(await merchant.wallet(third)).toMatchObject({ available: '10.00', held: '0.00', debt: '0.00' });
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

  it('refunds are undone in reverse, and items that came back with an undone refund can come back again', async () => {
    const order = await merchant.completed({
      total: '100.00',
      items: [
        { id: 'shirt', price: '40.00' },
        { id: 'shoes', price: '60.00' },
      ],
    });
    const states = [await stateOf(order)];
    const refunds: Refund[] = [];
    for (const id of ['shirt', 'shoes']) {
      refunds.push(await merchant.refund(order, undefined, { items: [{ id }] }));
      states.push(await stateOf(order));
    }
    expect((await merchant.refunds(order)).data.map(({ voidable }) => voidable)).toEqual([true, false]);
    await merchant.voidRefund(refunds[0]!).refused(409, 'refund_not_voidable', {
      ...{ obstacle: 'later_change', next_action: 'read_order' },
    });
    for (const at of [1, 0]) {
      await merchant.voidRefund(refunds[at]!);
      expect(await stateOf(order)).toEqual(states[at]);
    }
    const again = await merchant.refund(order, undefined, { items: [{ id: 'shoes' }, { id: 'shirt' }] });
    expect(again).toMatchObject({ amount: '100.00', voidable: true });
  });

  it.each([
    [
      'spent',
      (document: string) => merchant.completed({ document, total: '90.00', payment_methods: [] }, { redeem: '16.00' }),
    ],
    [
      'held',
      async (document: string) =>
        merchant.hold(await merchant.create({ document, total: '90.00', payment_methods: [] }), '16.00'),
    ],
    ['debited', (document: string) => merchant.debit({ document, amount: '16.00' })],
  ])('a refund cannot be undone once what it returned is %s', async (_, use) => {
    const order = await anOrderThatRedeemed();
    const refund = await merchant.refund(order, '100.00');
    await use(order.document);
    expect((await merchant.readRefund(refund)).voidable).toBe(false);
    await merchant.voidRefund(refund).refused(409, 'refund_not_voidable', {
      ...{ obstacle: 'returned_cashback', next_action: 'fix_request' },
    });
  });

  it('a void can be bound to a version, needs the permission refund, and finds only refunds of its order', async () => {
    const order = await anOrderThatRedeemed();
    const refund = await merchant.refund(order, '50.00');
    const ifMatch = (version: string) => ({ headers: { 'if-match': version } });
    await merchant.voidRefund(refund, {}, ifMatch('"2"')).refused(412, 'precondition_failed');
    const seller = await aUser(service, merchant.id, ['sell']);
    await seller.voidRefund(refund).refused(403, 'forbidden', { permission: 'refund' });
    await (await aMerchant(service)).voidRefund(refund).refused(404, 'not_found');
    const other = await merchant.completed();
    await merchant.voidRefund({ order_id: other.id, id: refund.id }).refused(404, 'not_found');
    await merchant.voidRefund(refund, { reason: 'x'.repeat(501) }).refused(400, 'validation_failed', ['/reason']);
    await merchant.voidRefund(refund, { amount: '1.00' }).refused(400, 'validation_failed', ['/amount']);
    expect((await merchant.voidRefund(refund, undefined, ifMatch('"3"')).changed()).voided_at).not.toBeNull();
  });

  it('voids at the same time undo once; beside another refund, either it or nothing is undone', async () => {
    const order = await anOrderThatRedeemed();
    const before = await stateOf(order);
    const refund = await merchant.refund(order, '50.00');
    const answers = await atOnce(8, () => merchant.voidRefund(refund).answer);
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(await stateOf(order)).toEqual(before);
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
    await merchant.refund(order, '50.00', { external_id: 'DEV-E', reason: 'Bia' }).refused(409, 'external_id_conflict');
    const second = await merchant.refund(order, '10.00');
    expect((await merchant.voidRefund(second)).voided_at).not.toBeNull();
  });
});
