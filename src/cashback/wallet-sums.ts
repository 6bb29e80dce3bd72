import type { EntityManager } from 'typeorm';
import { exactCents } from '../common/money.js';
import { AVAILABLE, availableParameters, FREE, PENDING } from './balance-sql.js';
import { Wallet, type WalletOwner } from './wallet.entity.js';

/** An amount that changes its state at an instant. */
export interface DatedAmount {
  cents: number;
  at: Date;
}

/** The sums of a wallet at an instant, in centavos. */
export type WalletSums = Pick<Wallet, 'id' | 'availableCents' | 'pendingCents' | 'heldCents' | 'debtCents'>;

/** The sums of a wallet, and the next dates that change them. */
export interface WalletSummary extends WalletSums {
  nextRelease: DatedAmount | null;
  nextExpiry: DatedAmount | null;
}

const NEXT_RELEASE = `
  SELECT available_at AS at, SUM${FREE} AS cents FROM cashback_credits FORCE INDEX (ix_cashback_credits_release)
   WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND available_at > ? GROUP BY available_at ORDER BY available_at LIMIT 1`;

const NEXT_EXPIRY = `
  SELECT expires_at AS at, SUM${FREE} AS cents FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
   WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at > ? AND available_at <= ?
   GROUP BY expires_at ORDER BY expires_at LIMIT 1`;

/**
 * Returns a customer's wallet with its sums, without loading its credits. Call it in a snapshot: it needs several
 * statements.
 *
 * @returns null if there is no wallet.
 */
export async function summarize(
  manager: EntityManager,
  { merchantId, document }: WalletOwner,
  now: Date,
): Promise<WalletSummary | null> {
  const wallet = await manager.findOneBy(Wallet, { merchantId, document });
  if (wallet === null) return null;
  const { id, availableAsOf } = wallet;
  // The clock of the instance that wrote the wallet last can be ahead.
  const at = availableAsOf > now ? availableAsOf : now;
  await bringUpToDate(manager, [[wallet, at]]);
  return {
    ...wallet,
    nextRelease: await first(manager, NEXT_RELEASE, [id, merchantId, at]),
    nextExpiry: await first(manager, NEXT_EXPIRY, [id, merchantId, at, at]),
  };
}

const SUMS_OF_ONE = `SELECT w.id, ${AVAILABLE} AS available, ${PENDING} AS pending FROM wallets w WHERE w.merchant_id = ? AND w.id = ?`;

/**
 * Changes wallets in memory to their sums at an instant of each. They were read in the same snapshot, or are locked.
 * Most wallets were not changed by a date since they were written.
 */
export async function bringUpToDate(manager: EntityManager, wallets: readonly [Wallet, at: Date][]): Promise<void> {
  const changed = wallets.filter(([{ availableUntil }, at]) => availableUntil <= at);
  if (changed.length === 0) return;
  // One SELECT per wallet, because servers use the index for a range of dates only for one wallet at a time.
  const rows = await manager.query<Record<'id' | 'available' | 'pending', string>[]>(
    changed.map(() => SUMS_OF_ONE).join(' UNION ALL '),
    changed.flatMap(([{ id, merchantId }, at]) => [...availableParameters(at), at, merchantId, id]),
  );
  const sums = new Map(rows.map((row) => [row.id, row]));
  for (const [wallet] of changed) {
    wallet.availableCents = exactCents(sums.get(wallet.id)!.available);
    wallet.pendingCents = exactCents(sums.get(wallet.id)!.pending);
  }
}

async function first(manager: EntityManager, sql: string, parameters: unknown[]): Promise<DatedAmount | null> {
  const [row] = await manager.query<{ at: Date; cents: string }[]>(sql, parameters);
  return row === undefined ? null : { at: row.at, cents: exactCents(row.cents) };
}
