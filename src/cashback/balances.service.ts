import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { exactCents } from '../common/money.js';
import { type HeldLot, isAvailable, type Lot, applyExpiries } from './expiry.js';

/** What a balance is made of: one row for what credits add up to, and one for each hold that has lapsed and is not given back yet. */
export interface BalanceRow {
  of_document: string;
  sum_cents: string | number;
  lapsed_order_id: string | null;
  lapsed_at: Date;
  credit_id: string;
  credit_cents: number;
  credit_from: Date;
  credit_until: Date;
}

/** The columns of a BalanceRow, in the order of the statement. */
export const BALANCE_COLUMNS = [
  'of_document',
  'sum_cents',
  'lapsed_order_id',
  'lapsed_at',
  'credit_id',
  'credit_cents',
  'credit_from',
  'credit_until',
];

/**
 * What customers could spend now, read without a lock and without loading their credits: the sum is the
 * database's, and only credits under holds that have lapsed are settled here. It is one statement, so
 * it sees one moment.
 *
 * @param documents what may stand after IN; its parameters are needed twice, see `balanceParameters`.
 * @param columnsBefore how many columns of another SELECT stand before ours, where this is the rest of a UNION.
 */
export function balanceSql(documents: string, columnsBefore = 0): string {
  const before = 'NULL, '.repeat(columnsBefore);
  return `
  SELECT ${before} w.document AS of_document, SUM(c.remaining_cents) AS sum_cents, NULL AS lapsed_order_id, NULL AS lapsed_at,
         NULL AS credit_id, NULL AS credit_cents, NULL AS credit_from, NULL AS credit_until
    FROM wallets w JOIN cashback_credits c ON c.wallet_id = w.id
   WHERE w.merchant_id = ? AND w.document IN (${documents}) AND c.is_open = 1 AND c.expires_at > ? AND c.available_at <= ?
   GROUP BY w.document
   UNION ALL
  SELECT ${before} w.document, h.amount_cents, h.order_id, h.expires_at, c.id, c.remaining_cents, c.available_at, c.expires_at
    FROM wallets w JOIN cashback_holds h ON h.wallet_id = w.id AND h.expires_at <= ? JOIN cashback_credits c ON c.id = h.credit_id
   WHERE w.merchant_id = ? AND w.document IN (${documents})`;
}

/** @param documents the parameters of what stands after IN. */
export function balanceParameters(merchantId: string, documents: readonly unknown[], now: Date): unknown[] {
  return [merchantId, ...documents, now, now, now, merchantId, ...documents];
}

/** The available centavos of one document, from its rows. */
export function availableCents(rows: readonly BalanceRow[], now: Date): number {
  const summed = rows.find((row) => row.lapsed_order_id === null);
  const lapsed = rows.filter((row) => row.lapsed_order_id !== null);
  return exactCents(exactCents(summed?.sum_cents ?? 0) + gainOfSettling(lapsed, now));
}

const AVAILABLE_SQL = balanceSql('?');

@Injectable()
export class BalancesService {
  /**
   * @param documents customers of the merchant, known or not.
   * @returns the available centavos by document; 0 where there is no wallet.
   */
  async available(
    manager: EntityManager,
    merchantId: string,
    documents: readonly string[],
    now: Date,
  ): Promise<Map<string, number>> {
    if (documents.length === 0) return new Map();
    const wanted = [...new Set(documents)];
    const rows = await manager.query<BalanceRow[]>(AVAILABLE_SQL, balanceParameters(merchantId, [wanted], now));
    return new Map(
      wanted.map((document) => [
        document,
        availableCents(
          rows.filter((row) => row.of_document === document),
          now,
        ),
      ]),
    );
  }

  /** The available centavos of the one customer whom something, an order say, belongs to. */
  async availableTo(
    manager: EntityManager,
    { merchantId, document }: { merchantId: string; document: string },
    now: Date,
  ): Promise<number> {
    return availableCents(
      await manager.query<BalanceRow[]>(AVAILABLE_SQL, balanceParameters(merchantId, [document], now)),
      now,
    );
  }
}

/** By how much the available balance grows (never shrinks) once the lapsed holds are given back. */
function gainOfSettling(rows: readonly BalanceRow[], now: Date): number {
  if (rows.length === 0) return 0;
  const lots = new Map<string, Lot>();
  const holds: HeldLot[] = [];
  for (const row of rows) {
    const { credit_id: id, lapsed_order_id: orderId, lapsed_at: expiresAt } = row;
    lots.set(id, {
      id,
      remainingCents: exactCents(row.credit_cents),
      availableAt: row.credit_from,
      expiresAt: row.credit_until,
    });
    holds.push({ orderId: String(orderId), creditId: id, amountCents: exactCents(row.sum_cents), expiresAt });
  }
  const spendable = (): number =>
    [...lots.values()].reduce((sum, lot) => sum + (isAvailable(lot, now) ? lot.remainingCents : 0), 0);
  const before = spendable();
  applyExpiries([...lots.values()], holds, now);
  return spendable() - before;
}
