import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Order, Refund, Wallet } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

let counter = 0;
async function refund(order: { id: string }, amount: string): Promise<Refund> {
  const body = await merchant.refund(order, amount, { external_id: `DEV-${++counter}` });
  return body;
}

describe('cashback returned by a refund', () => {});

describe('cashback taken back by a refund', () => {});

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
