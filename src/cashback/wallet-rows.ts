import type { EntityManager } from 'typeorm';
import { exactCents } from '../common/money.js';
import { columnNames, type Row, toEntity } from '../database/rows.js';
import { Credit } from './credit.entity.js';
import { Hold } from './hold.entity.js';
import type { LoadedWallet } from './wallet-aggregate.js';
import { sumWallet } from './wallet-summary.js';
import type { Wallet } from './wallet.entity.js';

/**
 * Statements that read the rows of a wallet. They take no locks: use cases that write these rows have locked the
 * wallet's row first, and at READ COMMITTED each statement sees everything that was committed before it.
 */

/** Maximum number of IDs or rows per statement. */
const ROWS_PER_STATEMENT = 2000;

/** Loads what every use case on a wallet needs first. @param orderId the order whose holds are needed, if any. */
export async function loadWallet(
  manager: EntityManager,
  wallet: Wallet,
  now: Date,
  orderId?: string,
): Promise<LoadedWallet> {
  const { merchantId } = wallet;
  const sums = await sumWallet(manager, wallet, now);
  const mayHold = orderId !== undefined && sums.heldCents > 0;
  const holds = mayHold ? await manager.findBy(Hold, { orderId, merchantId }) : [];
  const held = holds.map(({ creditId }) => creditId);
  const credits = await creditsById(manager, merchantId, held);
  return { wallet, sums, holds, credits };
}

/** Reads expired credits that have not been written off, at most `limit`. */
export function expiredCredits(
  manager: EntityManager,
  { id, merchantId }: Pick<Wallet, 'id' | 'merchantId'>,
  now: Date,
  limit: number,
): Promise<Credit[]> {
  return readCredits(
    manager,
    (columns) => `
    SELECT ${columns} FROM cashback_credits
     WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at <= ? ORDER BY expires_at, id LIMIT ?`,
    [id, merchantId, now, limit],
  );
}

export async function creditsById(
  manager: EntityManager,
  merchantId: string,
  ids: readonly string[],
): Promise<Credit[]> {
  const sql = (columns: string): string =>
    `SELECT ${columns} FROM cashback_credits WHERE merchant_id = ? AND id IN (?)`;
  const credits: Credit[] = [];
  for (const batch of batches(ids)) credits.push(...(await readCredits(manager, sql, [merchantId, batch])));
  return credits;
}

/** The position after which a page of open credits starts. */
export type CreditPosition = Pick<Credit, 'id' | 'expiresAt'>;

/**
 * Reads a page of a wallet's open credits that have not expired, earliest expiry first. Many credits can have the same
 * expiry, so the rest of that expiry and the later ones are two ranges of the index.
 *
 * @param availableOnly excludes pending credits.
 */
export function openCredits(
  manager: EntityManager,
  { wallet, now, after, limit, availableOnly }: OpenCreditsPage,
): Promise<Credit[]> {
  const start = after !== undefined && after.expiresAt > now ? after : undefined;
  const ranges: [condition: string, ...parameters: unknown[]][] = [['expires_at > ?', start?.expiresAt ?? now]];
  if (start !== undefined) ranges.unshift(['expires_at = ? AND id > ?', start.expiresAt, start.id]);
  const pending = availableOnly ? [now] : [];
  const select = (columns: string, condition: string): string => `
    (SELECT ${columns} FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
      WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND ${condition} ${availableOnly ? 'AND available_at <= ?' : ''}
      ORDER BY expires_at, id LIMIT ?)`;
  return readCredits(
    manager,
    (columns) => `
    SELECT ${columns} FROM (${ranges.map(([condition]) => select(columns, condition)).join(' UNION ALL ')}) found
     ORDER BY expires_at, id LIMIT ?`,
    [...ranges.flatMap(([, ...values]) => [wallet.id, wallet.merchantId, ...values, ...pending, limit]), limit],
  );
}

interface OpenCreditsPage {
  wallet: Pick<Wallet, 'id' | 'merchantId'>;
  now: Date;
  after: CreditPosition | undefined;
  limit: number;
  availableOnly: boolean;
}

/** @returns by credit, the centavos that an order redeemed and that no refund has returned yet. */
export async function redeemedByCredit(
  manager: EntityManager,
  merchantId: string,
  orderId: string,
): Promise<Map<string, number>> {
  const rows = await manager.query<{ credit_id: string; cents: string }[]>(
    "SELECT credit_id, -SUM(amount_cents) AS cents FROM cashback_entries WHERE order_id = ? AND merchant_id = ? AND kind IN ('redeem', 'restore') GROUP BY credit_id",
    [orderId, merchantId],
  );
  return new Map(rows.map(({ credit_id, cents }) => [credit_id, exactCents(cents)]));
}

/** @returns the centavos of a credit that have been written off because it expired. */
export async function expiredByEntries(manager: EntityManager, merchantId: string, creditId: string): Promise<number> {
  const [row] = await manager.query<{ cents: string | null }[]>(
    "SELECT -SUM(amount_cents) AS cents FROM cashback_entries WHERE credit_id = ? AND merchant_id = ? AND kind = 'expire'",
    [creditId, merchantId],
  );
  return exactCents(row?.cents ?? 0);
}

export function* batches<T>(rows: Iterable<T>): Generator<T[]> {
  let batch: T[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length < ROWS_PER_STATEMENT) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function readCredits(
  manager: EntityManager,
  sql: (columns: string) => string,
  parameters: unknown[],
): Promise<Credit[]> {
  const rows = await manager.query<Row[]>(sql(columnNames(manager, Credit).join(', ')), parameters);
  return rows.map((row) => toEntity(manager, Credit, row));
}
