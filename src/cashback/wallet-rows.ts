import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { exactCents } from '../common/money.js';
import { columnNames, type Row, toEntity } from '../database/rows.js';
import { AVAILABLE_BY_DATE, availableByDateParameters } from './balance-sql.js';
import { Credit } from './credit.entity.js';
import { Hold } from './hold.entity.js';
import { type LoadedWallet, WalletAggregate } from './wallet-aggregate.js';
import { Wallet, type WalletOwner } from './wallet.entity.js';

/**
 * Statements that read the rows of a wallet. They take no locks: use cases that write these rows have locked the
 * wallet's row first, and at READ COMMITTED each statement sees everything that was committed before it.
 */

/** How many expired credits a use case writes off. The next one handles the rest; expired credits are not available. */
const WRITE_OFF_AT_MOST = 500;

/** Maximum number of IDs or rows per statement. */
const ROWS_PER_STATEMENT = 2000;

/** Loads what every use case on a wallet needs first. @param orderId the order whose holds are needed, if any. */
export async function loadWallet(
  manager: EntityManager,
  wallet: Wallet,
  now: Date,
  orderId?: string,
): Promise<LoadedWallet> {
  const [balance] = await manager.query<{ cents: string }[]>(
    `SELECT ${AVAILABLE_BY_DATE} AS cents FROM wallets w WHERE w.id = ? AND w.merchant_id = ?`,
    [...availableByDateParameters(now), wallet.id, wallet.merchantId],
  );
  const holds = await read(
    manager,
    Hold,
    (columns) =>
      `
    SELECT ${columns} FROM cashback_holds WHERE wallet_id = ? AND merchant_id = ? AND expires_at <= ?
     UNION SELECT ${columns} FROM cashback_holds WHERE order_id = ? AND merchant_id = ?`,
    [wallet.id, wallet.merchantId, now, orderId ?? null, wallet.merchantId],
  );
  const expired = await read(
    manager,
    Credit,
    (columns) =>
      `
    SELECT ${columns} FROM cashback_credits
     WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at <= ? ORDER BY expires_at, id LIMIT ?`,
    [wallet.id, wallet.merchantId, now, WRITE_OFF_AT_MOST],
  );
  const known = new Set(expired.map(({ id }) => id));
  const held = holds.map(({ creditId }) => creditId).filter((id) => !known.has(id));
  const credits = [...expired, ...(await creditsById(manager, wallet.merchantId, [...new Set(held)]))];
  return { wallet, availableByDateCents: exactCents(balance?.cents ?? 0), holds, credits };
}

export async function creditsById(
  manager: EntityManager,
  merchantId: string,
  ids: readonly string[],
): Promise<Credit[]> {
  const sql = (columns: string): string =>
    `SELECT ${columns} FROM cashback_credits WHERE merchant_id = ? AND id IN (?)`;
  const credits: Credit[] = [];
  for (const batch of batches(ids)) credits.push(...(await read(manager, Credit, sql, [merchantId, batch])));
  return credits;
}

/** The position after which a page of open credits starts. */
export type CreditPosition = Pick<Credit, 'id' | 'expiresAt'>;

/**
 * Reads a page of a wallet's open credits that have not expired, earliest expiry first.
 *
 * @param availableOnly excludes pending credits.
 */
export function openCredits(
  manager: EntityManager,
  { wallet, now, after, limit, availableOnly }: OpenCreditsPage,
): Promise<Credit[]> {
  const from = after ?? { expiresAt: now, id: '' };
  return read(
    manager,
    Credit,
    (columns) => `
    SELECT ${columns} FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
     WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at > ? AND expires_at >= ? AND (expires_at > ? OR id > ?)
           ${availableOnly ? 'AND available_at <= ?' : ''}
     ORDER BY expires_at, id LIMIT ?`,
    [
      ...[wallet.id, wallet.merchantId, now],
      ...[from.expiresAt, from.expiresAt, from.id, ...(availableOnly ? [now] : []), limit],
    ],
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

/**
 * Loads a customer's wallet for reading, brought up to date to an instant, without a lock. For customers with a debt:
 * how much of it lapsed holds repay depends on the order in which they lapsed.
 *
 * @returns null if there is no wallet.
 */
export async function viewWallet(
  manager: EntityManager,
  { merchantId, document }: WalletOwner,
  now: Date,
): Promise<WalletAggregate | null> {
  const wallet = await manager.findOneBy(Wallet, { merchantId, document });
  return wallet === null ? null : new WalletAggregate(await loadWallet(manager, wallet, now), now);
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

async function read<T extends ObjectLiteral>(
  manager: EntityManager,
  target: EntityTarget<T>,
  sql: (columns: string) => string,
  parameters: unknown[],
): Promise<T[]> {
  const rows = await manager.query<Row[]>(sql(columnNames(manager, target).join(', ')), parameters);
  return rows.map((row) => toEntity(manager, target, row));
}
