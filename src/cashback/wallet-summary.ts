import type { EntityManager } from 'typeorm';
import { exactCents } from '../common/money.js';
import { AVAILABLE, availableParameters } from './balance-sql.js';
import type { WalletOwner } from './wallet.entity.js';

/** An amount that changes its state at an instant. */
export interface DatedAmount {
  cents: number;
  at: Date;
}

/** The sums of a wallet at an instant, in centavos. */
export interface WalletSummary {
  id: string;
  availableCents: number;
  pendingCents: number;
  heldCents: number;
  debtCents: number;
  nextRelease: DatedAmount | null;
  nextExpiry: DatedAmount | null;
}

const SUMS = `
  SELECT w.id, w.available_as_of, w.balance_cents, w.debt_cents, ${AVAILABLE} AS available_cents,
         COALESCE((SELECT SUM(e.remaining_cents) FROM cashback_credits e
                    WHERE e.wallet_id = w.id AND e.merchant_id = w.merchant_id AND e.is_open = 1
                      AND e.expires_at <= GREATEST(?, w.available_as_of)), 0) AS expired_cents,
         COALESCE((SELECT SUM(h.amount_cents) FROM cashback_holds h
                    WHERE h.wallet_id = w.id AND h.merchant_id = w.merchant_id), 0) AS held_cents
    FROM wallets w WHERE w.merchant_id = ? AND w.document = ?`;

type Sum = 'balance_cents' | 'debt_cents' | 'available_cents' | 'expired_cents' | 'held_cents';

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
  const parameters = [...availableParameters(now), now, merchantId, document];
  const [sums] = await manager.query<({ id: string; available_as_of: Date } & Record<Sum, string>)[]>(SUMS, parameters);
  if (sums === undefined) return null;
  const cents = (sum: Sum): number => exactCents(sums[sum]);
  // The clock of the instance that wrote the wallet last can be ahead.
  const at = sums.available_as_of > now ? sums.available_as_of : now;
  return {
    id: sums.id,
    availableCents: cents('available_cents'),
    pendingCents: exactCents(cents('balance_cents') - cents('available_cents') - cents('expired_cents')),
    heldCents: cents('held_cents'),
    debtCents: cents('debt_cents'),
    nextRelease: await first(manager, NEXT_RELEASE, [sums.id, merchantId, at]),
    nextExpiry: await first(manager, NEXT_EXPIRY, [sums.id, merchantId, at, at]),
  };
}

async function first(manager: EntityManager, sql: string, parameters: unknown[]): Promise<DatedAmount | null> {
  const [row] = await manager.query<{ at: Date; cents: string }[]>(sql, parameters);
  return row === undefined ? null : { at: row.at, cents: exactCents(row.cents) };
}
