import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ReconcileService } from '../../src/reconcile/reconcile.service.js';
import { expectInvariants } from '../support/expectations.js';
import { aCreatedOrder, aDocument, aMerchant, grant, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import { rowsOf } from '../support/wallets.js';

describe('reconciling', () => {
  let service: Service;
  let merchant: TestMerchant;
  let document: string;
  let order: any;
  let open: any;

  // A customer with a completed, partly refunded order on which cashback was redeemed, and an open one that holds some.
  beforeAll(async () => {
    service = await startService();
    merchant = await aMerchant(service);
    document = aDocument();
    await grant(service, merchant, document, '50.00');
    order = await aCreatedOrder(merchant, { document });
    await merchant.client.post(`/orders/${order.id}/complete`, { redeem: '10.00' });
    await merchant.client.post(`/orders/${order.id}/refunds`, { external_id: 'DEV-1', amount: '75.00' });
    open = await aCreatedOrder(merchant, { document });
    await merchant.client.put(`/orders/${open.id}/redemption`, { amount: '10.00' });
  });
  afterAll(() => service.stop());

  it('is content with what the service wrote', () => expectInvariants(service));

  it.each([
    [
      'more left of a credit',
      'cashback_credits',
      'remaining_cents = remaining_cents + 1',
      'remaining_cents = remaining_cents - 1',
      'remaining_cents < amount_cents',
    ],
    ['a higher debt', 'wallets', 'debt_cents = 1', 'debt_cents = 0', 'debt_cents = 0'],
    ['a higher balance', 'wallets', 'balance_cents = balance_cents + 1', 'balance_cents = balance_cents - 1', '1 = 1'],
    ['an entry that is missing', 'wallets', 'last_seq = last_seq + 1', 'last_seq = last_seq - 1', '1 = 1'],
    ['another hold', 'cashback_holds', 'amount_cents = amount_cents - 1', 'amount_cents = amount_cents + 1', '1 = 1'],
    [
      'another redemption held',
      'orders',
      'redemption_cents = redemption_cents + 1',
      'redemption_cents = redemption_cents - 1',
      "status = 'pending'",
    ],
    [
      'another redemption captured',
      'orders',
      'redemption_cents = redemption_cents + 1',
      'redemption_cents = redemption_cents - 1',
      "status <> 'pending'",
    ],
    [
      'more granted',
      'orders',
      'earned_cents = earned_cents + 1',
      'earned_cents = earned_cents - 1',
      "status <> 'pending'",
    ],
    [
      'more refunded',
      'orders',
      'refunded_cents = refunded_cents + 1',
      'refunded_cents = refunded_cents - 1',
      "status <> 'pending'",
    ],
    [
      'less returned',
      'orders',
      'returned_cents = returned_cents - 1',
      'returned_cents = returned_cents + 1',
      'returned_cents > 0',
    ],
    [
      'less taken back',
      'orders',
      'clawed_back_cents = clawed_back_cents - 1',
      'clawed_back_cents = clawed_back_cents + 1',
      'clawed_back_cents > 0',
    ],
    ['another refund', 'refunds', 'amount_cents = amount_cents + 1', 'amount_cents = amount_cents - 1', '1 = 1'],
    [
      'a completed order that is cancelled',
      'orders',
      "status = 'cancelled'",
      "status = 'partially_refunded'",
      "status = 'partially_refunded'",
    ],
    ['an open order that is cancelled', 'orders', "status = 'cancelled'", "status = 'pending'", "status = 'pending'"],
    [
      'a refunded order that is not',
      'orders',
      "status = 'refunded'",
      "status = 'partially_refunded'",
      "status = 'partially_refunded'",
    ],
  ])('finds %s', async (_what, table, tamper, repair, which) => {
    const ids = table === 'cashback_holds' ? 'order_id' : 'id';
    const rows = await rowsOf(service, `SELECT ${ids} AS id FROM ${table} WHERE ${which}`);
    expect(rows.length).toBeGreaterThan(0);
    const tampered = rows.map(({ id }) => id as string);
    await rowsOf(service, `UPDATE ${table} SET ${tamper} WHERE ${ids} IN (?)`, [tampered]);
    const { discrepancies } = await service.app.get(ReconcileService).reconcile();
    await rowsOf(service, `UPDATE ${table} SET ${repair} WHERE ${ids} IN (?)`, [tampered]);
    expect(discrepancies).not.toEqual([]);
    await expectInvariants(service);
  });

  it('finds an entry that somebody slipped in', async () => {
    const [{ wallet_id, last_seq }] = (await rowsOf(service, 'SELECT id AS wallet_id, last_seq FROM wallets')) as [any];
    const [{ id }] = (await rowsOf(service, 'SELECT id FROM cashback_credits LIMIT 1')) as [any];
    await rowsOf(
      service,
      `INSERT INTO cashback_entries (wallet_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, effective_at, created_at)
       VALUES (?, ?, 'grant', 1, 0, 0, ?, '2026-01-01', '2026-01-01')`,
      [wallet_id, Number(last_seq) + 1, id],
    );
    const { discrepancies } = await service.app.get(ReconcileService).reconcile();
    const found = new Set(discrepancies.map(({ invariant }) => invariant));
    expect([...found]).toEqual([
      'a credit has left what its entries add up to, between 0 and its amount',
      'the statement is gapless, and its debt is the debt',
      'every entry carries the balance and the debt after it',
    ]);
  });

  it('finds a unique key that is gone', async () => {
    // A foreign key needs the index, so another one takes its place first.
    await rowsOf(service, 'CREATE INDEX ix_in_its_place ON refunds (order_id)');
    await rowsOf(service, 'DROP INDEX uq_refunds_order_external_id ON refunds');
    const { discrepancies } = await service.app.get(ReconcileService).reconcile();
    expect(discrepancies).toContainEqual({
      invariant: 'the unique keys are in place',
      missing: 'uq_refunds_order_external_id',
    });
  });
});
