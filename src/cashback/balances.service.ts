import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { exactCents } from '../common/money.js';
import { type HeldLot, isAvailable, type Lot, settle } from './settle.js';

interface SumRow {
  document: string;
  sum_cents: string | number;
  order_id: null;
}

interface LapsedRow {
  document: string;
  sum_cents: number;
  order_id: string;
  lapsed_at: Date;
  credit_id: string;
  remaining_cents: number;
  available_at: Date;
  expires_at: Date;
}

/**
 * What customers could spend now, read without a lock and without loading their credits: the sum is the
 * database's, and only credits under holds that have lapsed are settled here. It is one statement, so
 * it sees one moment.
 */
const AVAILABLE_SQL = `
  SELECT w.document, SUM(c.remaining_cents) AS sum_cents, NULL AS order_id, NULL AS lapsed_at,
         NULL AS credit_id, NULL AS remaining_cents, NULL AS available_at, NULL AS expires_at
    FROM wallets w JOIN cashback_credits c ON c.wallet_id = w.id
   WHERE w.merchant_id = ? AND w.document IN (?) AND c.expires_at > ? AND c.available_at <= ? AND c.remaining_cents > 0
   GROUP BY w.document
   UNION ALL
  SELECT w.document, h.amount_cents, h.order_id, h.expires_at, c.id, c.remaining_cents, c.available_at, c.expires_at
    FROM wallets w JOIN cashback_holds h ON h.wallet_id = w.id AND h.expires_at <= ? JOIN cashback_credits c ON c.id = h.credit_id
   WHERE w.merchant_id = ? AND w.document IN (?)`;

@Injectable()
export class BalancesService {
  /**
   * @param documents customers of the merchant, known or not.
   * @returns the available centavos by document; 0 where there is no wallet.
   */
  async available(manager: EntityManager, merchantId: string, documents: readonly string[], now: Date): Promise<Map<string, number>> {
    const available = new Map(documents.map((document) => [document, 0]));
    if (documents.length === 0) return available;
    const wanted = [...available.keys()];
    const rows = await manager.query<(SumRow | LapsedRow)[]>(AVAILABLE_SQL, [merchantId, wanted, now, now, now, merchantId, wanted]);
    for (const document of wanted) {
      const own = rows.filter((row) => row.document === document);
      const summed = own.find((row): row is SumRow => row.order_id === null);
      const lapsed = own.filter((row): row is LapsedRow => row.order_id !== null);
      available.set(document, exactCents(exactCents(summed?.sum_cents ?? 0) + gainOfSettling(lapsed, now)));
    }
    return available;
  }
}

/** By how much the available balance grows (never shrinks) once the lapsed holds are given back. */
function gainOfSettling(rows: LapsedRow[], now: Date): number {
  const lots = new Map<string, Lot>();
  const holds: HeldLot[] = [];
  for (const row of rows) {
    const { credit_id: id, order_id: orderId } = row;
    lots.set(id, { id, remainingCents: exactCents(row.remaining_cents), availableAt: row.available_at, expiresAt: row.expires_at });
    holds.push({ orderId, creditId: id, amountCents: exactCents(row.sum_cents), expiresAt: row.lapsed_at });
  }
  const spendable = (): number => [...lots.values()].reduce((sum, lot) => sum + (isAvailable(lot, now) ? lot.remainingCents : 0), 0);
  const before = spendable();
  settle([...lots.values()], holds, now);
  return spendable() - before;
}
