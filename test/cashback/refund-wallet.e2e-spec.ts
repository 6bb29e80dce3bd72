import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Order, Refund, Wallet } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

let counter = 0;
async function refund(order: { id: string }, amount: string): Promise<Refund> {
  const body = await merchant.refund(order, amount, { external_id: `DEV-${++counter}` });
  return body;
}

/** @returns the remaining amount of each credit of a customer, earliest expiry first. */
async function creditsOf(document: string): Promise<string[]> {
  const sql =
    'SELECT c.remaining_cents FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id WHERE w.document = ? ORDER BY c.expires_at, c.seq';
  return (await rowsOf(service, sql, [document])).map((row) => (Number(row.remaining_cents) / 100).toFixed(2));
}

describe('cashback returned by a refund', () => {
  it('a refund returns redeemed cashback to the credits that it came from and keeps their dates', async () => {
    const document = await merchant.customerWith('10.00', { expiresAt: service.clock.inDays(10) });
    await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(20) });
    const order = await merchant.completed({ document }, { redeem: '15.00' });
    expect(await creditsOf(document)).toEqual(['0.00', '5.00', '6.75']);
    await refund(order, '60.00');
    expect(await creditsOf(document)).toEqual(['1.00', '10.00', '4.05']);
    await refund(order, '90.00');
    expect(await creditsOf(document)).toEqual(['10.00', '10.00', '0.00']);
    await service.clock.advance({ days: 10 });
    expect((await merchant.wallet(document)).available).toBe('10.00');
  });

  it('a refund does not return the part of a credit that had expired before', async () => {
    const document = await merchant.customerWith('30.00', { expiresAt: service.clock.inDays(1) });
    const order = await merchant.completed({ document }, { redeem: '10.00' });
    await service.clock.advance({ days: 3 });
    await refund(order, '150.00');
    expect((await merchant.wallet(document)).available).toBe('10.00');
    expect((await merchant.movements(document)).slice(-3)).toEqual([
      'expire -20.00',
      'return 10.00',
      'take_back -7.00',
    ]);
  });

  it('returned cashback can be redeemed and returned again', async () => {
    const document = await merchant.customerWith('10.00', { expiresAt: service.clock.inDays(1) });
    for (let round = 1; round <= 3; round++) {
      const order = await merchant.completed({ document }, { redeem: '10.00' });
      await refund(order, '150.00');
      expect(await merchant.wallet(document)).toMatchObject({ available: '10.00', pending: '0.00', debt: '0.00' });
    }
  });
});

describe('cashback taken back by a refund', () => {
  it('a refund takes back from the credit of the order first, then from the earliest to expire, pending or available', async () => {
    const shop = await aLongLivedMerchant(service, { releaseDays: 0 });
    const document = aDocument();
    const order = await shop.completed({ document, total: '400.00' });
    expect((await shop.wallet(document)).available).toBe('20.00');
    await shop.completed({ document, total: '100.00' }, { redeem: '18.00' });
    await shop.credit(document, '6.00', { expiresAt: service.clock.inDays(2) });
    await shop.credit(document, '6.00', { availableAt: service.clock.inDays(0.5), expiresAt: service.clock.inDays(1) });
    // The order's own credit has 2.00 left, the pending grant 6.00, the available one 6.00; the other order's 4.10
    // expire last.
    expect(await creditsOf(document)).toEqual(['6.00', '6.00', '2.00', '4.10']);
    const body = (await shop.refund(order, '100.00').answer).body;
    expect(body.cashback_taken_back).toBe('5.00');
    expect(await creditsOf(document)).toEqual(['3.00', '6.00', '0.00', '4.10']);
    await shop.refund(order, '100.00');
    expect(await creditsOf(document)).toEqual(['0.00', '4.00', '0.00', '4.10']);
  });

  it('a refund claims what another order holds of its own credit, and it becomes debt when that is redeemed', async () => {
    const document = aDocument();
    const order = await merchant.completed({ document, total: '100.00' });
    await service.clock.advance({ days: 8 });
    const open = await merchant.create({ document });
    await merchant.hold(open, '5.00');
    expect(await refund(order, '100.00')).toMatchObject({ cashback_taken_back: '5.00', amount_to_pay_back: '100.00' });
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', held: '5.00', debt: '0.00' });
    const body = await merchant.complete(open);
    expect(body.cashback).toMatchObject({ to_redeem: { redeemed: '5.00' }, to_receive: { amount: '7.25' } });
    expect(await merchant.wallet(document)).toMatchObject({ pending: '2.25', debt: '0.00' });
  });

  it('a refund takes nothing back for cashback of its order that expired unspent', async () => {
    const order = await merchant.completed({ total: '100.00' });
    await service.clock.advance({ days: 188 });
    expect(await refund(order, '40.00')).toMatchObject({ cashback_taken_back: '0.00', amount_to_pay_back: '40.00' });
    expect(await refund(order, '60.00')).toMatchObject({ cashback_taken_back: '0.00' });
    expect(await merchant.movements(order.document)).toEqual(['earn 5.00', 'expire -5.00']);
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '0.00', debt: '0.00' });
    const body = await merchant.order(order);
    expect(body).toMatchObject({
      status: 'refunded',
      cashback: { to_receive: { taken_back: '0.00', status: 'expired' } },
    });
  });

  it('refunds take back only what was spent of the cashback of their order when the rest expired', async () => {
    const document = aDocument();
    const order = await merchant.completed({ document, total: '100.00' });
    await service.clock.advance({ days: 8 });
    await merchant.completed({ document, total: '10.00', payment_methods: [] }, { redeem: '2.00' });
    await service.clock.advance({ days: 180 });
    const taken = [];
    for (const amount of ['33.33', '33.33', '33.34']) taken.push((await refund(order, amount)).cashback_taken_back);
    // 3.00 of 5.00 expired. The refunds of the rest take the 2.00 back.
    expect(taken).toEqual(['0.00', '0.34', '1.66']);
  });
});

describe('cashback that a refund claims', () => {
  let shop: TestMerchant;
  beforeAll(async () => {
    const policy = { releaseDays: 0, validityDays: 1, redeemShareBps: 10_000, earnRatesByPaymentMethod: { pix: 5000 } };
    shop = await aLongLivedMerchant(service, { ...policy, earnRateBps: 0, maxOrderTtlMinutes: 60 * 24 * 10 });
  });

  /** An order of 200.00 that earned 100.00 until midnight, of which another one holds 60.00. */
  async function aSale(): Promise<{ x: Order; y: Order }> {
    const x = await shop.completed({
      total: '200.00',
      payment_methods: [{ id: 'pix', amount: '200.00' }],
      store: 'SP-014',
    });
    const expires_at = service.clock.inDays(5).toISOString();
    const y = await shop.create({ document: x.document, total: '60.00', expires_at, store: 'RJ-003' });
    return { x, y: await shop.hold(y, '60.00') };
  }
  const refundAll = (x: Order, by = shop): PromiseLike<Refund> =>
    by.refund(x, '200.00', { store: 'MG-001', external_id: 'DEV-1' });
  const aManager = (): Promise<TestMerchant> => aUser(service, shop.id, ['refund'], 'Gerente');
  const nothing = { available: '0.00', pending: '0.00', held: '0.00', debt: '0.00' };

  it('cashback that expired except for what is held is not charged again when that is released after the refund', async () => {
    const { x, y } = await aSale();
    await service.clock.advance({ days: 1 });
    const quote = await shop.quoteRefund(x, '200.00');
    const manager = await aManager();
    expect(await refundAll(x, manager)).toMatchObject({ ...quote, cashback_taken_back: '60.00' });
    const { document } = x;
    expect(await shop.wallet(document)).toMatchObject({ ...nothing, held: '60.00' });
    const order = await shop.order(x);
    expect(order.cashback.to_receive).toMatchObject({ taken_back: '60.00' });
    for (const _repeated of ['refund', 'again']) await refundAll(x);
    await service.clock.advance({ minutes: 1 });
    const cancelled = await shop.cancel(y);
    expect(await shop.cancel(y)).toEqual(cancelled);
    expect(await shop.movements(document)).toEqual(['earn 100.00', 'expire -40.00', 'take_back -60.00']);
    expect((await shop.statement(document)).at(-1)).toMatchObject({
      ...{
        order_id: x.id,
        refund_external_id: 'DEV-1',
        by: manager.by,
        store: 'MG-001',
        debt: '0.00',
        balance: '0.00',
      },
      ...{ created_at: cancelled.cancelled_at, effective_at: cancelled.cancelled_at },
    });
    expect(await shop.order(x)).toEqual(order);
    await shop.grant({ document, amount: '70.00' });
    expect(await shop.wallet(document)).toMatchObject({ ...nothing, available: '70.00' });
  });

  it.each<[string, (y: Order) => Promise<unknown>]>([
    ['is lowered', (y) => shop.hold(y, '0.00').answer],
    ['expires', () => service.clock.advance({ days: 5 })],
    ['is completed without cashback', (y) => shop.complete(y, { redeem: '0.00' }).answer],
    [
      'is cancelled after an erasure',
      async (y) => {
        await shop.erase(y.document);
        await shop.cancel(y);
      },
    ],
  ])('what is claimed is taken back if the order that holds it %s', async (_, release) => {
    const { x, y } = await aSale();
    await refundAll(x);
    const { id } = await shop.wallet(x.document);
    await service.clock.advance({ days: 1 });
    await release(y);
    const { body } = await shop.client.get<Wallet>(`/wallets/${id}`);
    expect(body).toMatchObject(nothing);
  });

  it('what is claimed and redeemed is a debt of the refund, with an event of its user', async () => {
    const { x, y } = await aSale();
    const { document } = x;
    await shop.credit(document, '10.00');
    const manager = await aManager();
    await refundAll(x, manager);
    expect(await shop.wallet(document)).toMatchObject({ ...nothing, available: '10.00', held: '60.00' });
    await shop.complete(y);
    expect(await shop.wallet(document)).toMatchObject({ ...nothing, debt: '50.00' });
    const own = { order_id: x.id, refund_external_id: 'DEV-1', by: manager.by, store: 'MG-001' };
    expect((await shop.statement(document)).slice(-3)).toMatchObject([
      { kind: 'redeem', amount: '-60.00', order_id: y.id, by: shop.by },
      { kind: 'take_back', amount: '-10.00', ...own },
      { kind: 'debt', amount: '50.00', ...own },
    ]);
    const events = (await eventsOf(service, shop)).slice(-2);
    expect(events).toMatchObject([
      { type: 'wallet.debt_changed', by: manager.by, data: { change: '50.00', wallet: { debt: '50.00' } } },
      { type: 'order.completed', by: shop.by, data: { order: { id: y.id }, wallet: { debt: '50.00' } } },
    ]);
    expect(await shop.refund(y, '60.00')).toMatchObject({ cashback_returned: '60.00' });
    expect(await shop.wallet(document)).toMatchObject({ ...nothing, available: '10.00' });
  });

  it('a refund, its repetition and a cancellation at once leave nothing and no debt, in any order', async () => {
    for (let round = 0; round < 6; round++) {
      const { x, y } = await aSale();
      if (round % 2 === 1) await service.clock.advance({ days: 1 });
      await Promise.all([refundAll(x), shop.cancel(y), refundAll(x)]);
      expect(await shop.wallet(x.document)).toMatchObject(nothing);
    }
  });

  it('a refund and a completion of what is held at once leave the debt of what was redeemed', async () => {
    for (let round = 0; round < 6; round++) {
      const { x, y } = await aSale();
      if (round % 2 === 1) await service.clock.advance({ days: 1 });
      await Promise.all([refundAll(x), shop.complete(y)]);
      expect(await shop.wallet(x.document)).toMatchObject({ ...nothing, debt: '60.00' });
    }
  });

  it('with another merchant, nothing is claimed', async () => {
    const { x, y } = await aSale();
    const { document } = x;
    await merchant.credit(document, '20.00');
    await refundAll(x);
    await shop.complete(y);
    expect(await merchant.wallet(document)).toMatchObject({ ...nothing, available: '20.00' });
  });
});

describe('debt of a wallet', () => {
  /** A customer who spent 5.00 that the refund of the order then could not take back. */
  async function aDebtor(): Promise<{ document: string; spent: Order }> {
    const document = aDocument();
    const order = await merchant.completed({ document, total: '100.00' });
    await service.clock.advance({ days: 8 });
    const spent = await merchant.completed({ document, total: '10.00', payment_methods: [] }, { redeem: '5.00' });
    await refund(order, '100.00');
    return { document, spent };
  }

  it('the debt equals the part of what a refund takes back that all credits together did not cover', async () => {
    const { document } = await aDebtor();
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', pending: '0.00', debt: '4.75' });
    expect((await merchant.movements(document)).slice(-2)).toEqual(['take_back -0.25', 'debt 4.75']);
  });

  it('a grant repays the debt first, in part if the grant is smaller', async () => {
    const { document } = await aDebtor();
    await merchant.credit(document, '2.00');
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', debt: '2.75' });
    await merchant.credit(document, '10.00');
    expect(await merchant.wallet(document)).toMatchObject({ available: '7.25', debt: '0.00' });
    expect((await merchant.movements(document)).slice(-6)).toEqual([
      'grant 2.00',
      'take_back -2.00',
      'repay -2.00',
      'grant 10.00',
      'take_back -2.75',
      'repay -2.75',
    ]);
  });

  it('new cashback repays the debt first, and its order still shows the full amount', async () => {
    const { document } = await aDebtor();
    const order = await merchant.completed({ document, total: '100.00' });
    expect(order.cashback.to_receive).toMatchObject({ amount: '5.00', taken_back: '0.00', status: 'pending' });
    expect(await merchant.wallet(document)).toMatchObject({ pending: '0.25', debt: '0.00' });
    const entries = await merchant.statement(document);
    expect(entries.slice(-3)).toMatchObject([
      { kind: 'earn', balance: '5.00', debt: '4.75' },
      { kind: 'take_back', balance: '0.25', debt: '4.75', refund_id: null, order_id: order.id },
      { kind: 'repay', balance: '0.25', debt: '0.00', credit_id: null },
    ]);
    // The repaid amount is not taken back a second time when the order is refunded.
    await refund(order, '100.00');
    expect(await merchant.wallet(document)).toMatchObject({ pending: '0.00', debt: '4.75' });
  });

  it('cashback returned by a refund repays the debt first', async () => {
    const { document, spent } = await aDebtor();
    expect(await refund(spent, '10.00')).toMatchObject({
      cashback_returned: '5.00',
      cashback_taken_back: '0.25',
      amount_to_pay_back: '5.00',
    });
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', debt: '0.00' });
    expect((await merchant.movements(document)).slice(-5)).toEqual([
      'debt 4.75',
      'return 5.00',
      'take_back -4.75',
      'repay -4.75',
      'take_back -0.25',
    ]);
  });

  it('every line of a refund names it, also those that repay a debt, and an expiry names none', async () => {
    const { document, spent } = await aDebtor();
    const before = (await merchant.statement(document)).length;
    const { id: refund_id, external_id: refund_external_id } = await refund(spent, '10.00');
    const ofRefund = { refund_id, refund_external_id, order_id: spent.id };
    expect((await merchant.statement(document)).slice(before)).toMatchObject([
      { kind: 'return', amount: '5.00', ...ofRefund },
      { kind: 'take_back', amount: '-4.75', ...ofRefund },
      { kind: 'repay', amount: '-4.75', ...ofRefund },
      { kind: 'take_back', amount: '-0.25', ...ofRefund },
    ]);

    const other = aDocument();
    await merchant.credit(other, '30.00', { expiresAt: service.clock.inDays(1) });
    const late = await merchant.completed({ document: other }, { redeem: '10.00' });
    service.clock.skip(3 * 86_400_000);
    const { id } = await refund(late, '150.00');
    expect((await merchant.statement(other)).slice(-3)).toMatchObject([
      { kind: 'expire', amount: '-20.00', refund_id: null, order_id: null },
      { kind: 'return', amount: '10.00', refund_id: id },
      { kind: 'take_back', amount: '-7.00', refund_id: id },
    ]);
  });

  /** An order that holds 5.00 of a customer who has no other cashback, and a debt of 3.00. */
  async function anOrderOfADebtor(): Promise<{ open: Order; shop: TestMerchant }> {
    const shop = await aLongLivedMerchant(service, { releaseDays: 0, redeemShareBps: 10_000 });
    const order = await shop.completed({ total: '100.00' });
    const { document } = order;
    await shop.completed({ document, total: '5.00' }, { redeem: '5.00' });
    await shop.credit(document, '5.00');
    const open = await shop.create({ document });
    await shop.hold(open, '5.00');
    await shop.refund(order, '60.00');
    expect(await shop.wallet(document)).toMatchObject({ available: '0.00', held: '5.00', debt: '3.00' });
    return { open, shop };
  }

  it('a released hold repays the debt first, and only the rest is available', async () => {
    const {
      open: { id, document },
      shop,
    } = await anOrderOfADebtor();
    const body = await shop.cancel({ id });
    expect(body.cashback.to_redeem.available).toBe('2.00');
    expect(await shop.wallet(document)).toMatchObject({ available: '2.00', held: '0.00', debt: '0.00' });
    expect((await shop.statement(document)).slice(-2)).toMatchObject([
      { kind: 'take_back', amount: '-3.00', order_id: id, refund_id: null },
      { kind: 'repay', amount: '-3.00', order_id: id, refund_id: null, debt: '0.00' },
    ]);
  });

  it('a lapsed hold has repaid the debt in every response, before and after it is written down', async () => {
    const {
      open: { id, document, expires_at },
      shop,
    } = await anOrderOfADebtor();
    await service.clock.advance({ ms: Date.parse(expires_at) - service.clock.now().getTime() });
    const repaid = { available: '2.00', held: '0.00', debt: '0.00', next_expiry: { amount: '2.00' } };
    expect(await shop.wallet(document)).toMatchObject(repaid);
    expect((await shop.order({ id })).cashback.to_redeem).toMatchObject({ maximum: '2.00' });
    const order = await shop.create({ document });
    expect(order.cashback.to_redeem.available).toBe('2.00');
    await shop.credit(document, '1.00');
    expect(await shop.wallet(document)).toMatchObject({ available: '3.00', debt: '0.00' });
    expect((await shop.movements(document)).slice(-3)).toEqual(['take_back -3.00', 'repay -3.00', 'grant 1.00']);
  });

  it('a lower hold repays the debt only with what the order no longer holds', async () => {
    const {
      open: { id, document },
      shop,
    } = await anOrderOfADebtor();
    const { status, body } = await shop.hold({ id }, '4.00').answer;
    expect({ status, ...body.cashback.to_redeem }).toMatchObject({ status: 200, held: '4.00', available: '0.00' });
    expect(await shop.wallet(document)).toMatchObject({ available: '0.00', held: '4.00', debt: '2.00' });
    await shop.hold({ id }, '4.01').refused(422, 'redemption_exceeds_maximum');
    expect((await shop.complete({ id })).cashback.to_redeem.redeemed).toBe('4.00');
  });

  it('debt with one merchant does not affect the wallet with another merchant', async () => {
    const { document } = await aDebtor();
    const other = await aLongLivedMerchant(service);
    await other.credit(document, '10.00');
    expect(await other.wallet(document)).toMatchObject({ available: '10.00', debt: '0.00' });
  });

  it('concurrent refunds of all orders of a customer give the same result as sequential ones', async () => {
    const document = await merchant.customerWith('40.00');
    const orders = await atOnce(8, () => merchant.completed({ document, total: '100.00' }, { redeem: '5.00' }));
    await atOnce(8, (index) => refund(orders[index]!, '100.00'));
    expect(await merchant.wallet(document)).toMatchObject({
      available: '40.00',
      pending: '0.00',
      held: '0.00',
      debt: '0.00',
    });
  });
});
