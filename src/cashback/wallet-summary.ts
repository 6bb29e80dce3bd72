import type { EntityManager } from 'typeorm';
import { exactCents } from '../common/money.js';
import { SUMS, sumsParameters, type SumsRow } from './balance-sql.js';
import type { WalletOwner } from './wallet.entity.js';

/** An amount that changes its state at an instant. */
export interface DatedAmount {
  cents: number;
  at: Date;
}

/** The sums of a wallet at an instant, in centavos. */
export interface WalletSums {
  id: string;
  availableCents: number;
  pendingCents: number;
  heldCents: number;
  debtCents: number;
}

/** The sums of a wallet, and the next dates that change them. */
export interface WalletSummary extends WalletSums {
  nextRelease: DatedAmount | null;
  nextExpiry: DatedAmount | null;
}

const BY = {
  id: `SELECT w.id, w.document, w.available_as_of, ${SUMS} FROM wallets w WHERE w.merchant_id = ? AND w.id = ?`,
  document: `SELECT w.id, w.document, w.available_as_of, ${SUMS} FROM wallets w WHERE w.merchant_id = ? AND w.document = ?`,
};

type WalletRow = SumsRow & { id: string; document: string; available_as_of: Date };

const NEXT_RELEASE = `
  SELECT available_at AS at, SUM(remaining_cents) AS cents FROM cashback_credits FORCE INDEX (ix_cashback_credits_release)
   WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND available_at > ? GROUP BY available_at ORDER BY available_at LIMIT 1`;

const NEXT_EXPIRY = `
  SELECT expires_at AS at, SUM(remaining_cents) AS cents FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
   WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at > ? AND available_at <= ?
   GROUP BY expires_at ORDER BY expires_at LIMIT 1`;

/**
 * Adds up a customer's wallet in the database, without loading its credits. Call it in a snapshot: it needs several
 * statements.
 *
 * @returns null if there is no wallet.
 */
export async function summarize(
  manager: EntityManager,
  { merchantId, document }: WalletOwner,
  now: Date,
): Promise<WalletSummary | null> {
  const [row] = await manager.query<WalletRow[]>(BY.document, [...sumsParameters(now), merchantId, document]);
  if (row === undefined) return null;
  // The clock of the instance that wrote the wallet last can be ahead.
  const at = row.available_as_of > now ? row.available_as_of : now;
  return {
    ...toSums(row),
    nextRelease: await first(manager, NEXT_RELEASE, [row.id, merchantId, at]),
    nextExpiry: await first(manager, NEXT_EXPIRY, [row.id, merchantId, at, at]),
  };
}

/**
 * Adds up several wallets of one merchant in one statement.
 *
 * @returns the sums by `column`, without the wallets that do not exist.
 */
export async function sumWallets(
  manager: EntityManager,
  merchantId: string,
  column: keyof typeof BY,
  values: readonly string[],
  now: Date,
): Promise<Map<string, WalletSums>> {
  if (values.length === 0) return new Map();
  // One SELECT per wallet, because servers use the index for a range of dates only for one wallet at a time.
  const sql = values.map(() => BY[column]).join(' UNION ALL ');
  const rows = await manager.query<WalletRow[]>(
    sql,
    values.flatMap((value) => [...sumsParameters(now), merchantId, value]),
  );
  return new Map(rows.map((row) => [row[column], toSums(row)]));
}

function toSums(row: WalletRow): WalletSums {
  const [availableCents, expiredCents] = [exactCents(row.available_cents), exactCents(row.expired_cents)];
  return {
    id: row.id,
    availableCents,
    pendingCents: exactCents(exactCents(row.balance_cents) - availableCents - expiredCents),
    heldCents: exactCents(row.held_cents),
    debtCents: exactCents(row.debt_cents),
  };
}

async function first(manager: EntityManager, sql: string, parameters: unknown[]): Promise<DatedAmount | null> {
  const [row] = await manager.query<{ at: Date; cents: string }[]>(sql, parameters);
  return row === undefined ? null : { at: row.at, cents: exactCents(row.cents) };
}
