import { type EntityManager, In } from 'typeorm';
import { exactCents } from '../common/money.js';
import { AVAILABLE, availableParameters } from './balance-sql.js';
import { Wallet, type WalletOwner } from './wallet.entity.js';

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

/** @param available the available balance: AVAILABLE, or the stored one if no date has changed it. */
const sumsWith = (available: string): string => `
  SELECT ${available} AS available,
         COALESCE((SELECT SUM(e.remaining_cents) FROM cashback_credits e
                    WHERE e.wallet_id = w.id AND e.merchant_id = w.merchant_id AND e.is_open = 1
                      AND e.expires_at <= GREATEST(?, w.available_as_of)), 0) AS expired,
         COALESCE((SELECT SUM(h.amount_cents) FROM cashback_holds h
                    WHERE h.wallet_id = w.id AND h.merchant_id = w.merchant_id), 0) AS held
    FROM wallets w WHERE w.merchant_id = ? AND w.id = ?`;

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
  const wallet = await manager.findOneBy(Wallet, { merchantId, document });
  if (wallet === null) return null;
  const { id, availableAsOf } = wallet;
  // The clock of the instance that wrote the wallet last can be ahead.
  const at = availableAsOf > now ? availableAsOf : now;
  return {
    ...(await sumWallet(manager, wallet, now)),
    nextRelease: await first(manager, NEXT_RELEASE, [id, merchantId, at]),
    nextExpiry: await first(manager, NEXT_EXPIRY, [id, merchantId, at, at]),
  };
}

/** Adds up a wallet as it was read in the same snapshot, or locked. Most wallets were not changed by a date since. */
export async function sumWallet(manager: EntityManager, wallet: Wallet, now: Date): Promise<WalletSums> {
  const { id, merchantId, balanceCents, debtCents, availableUntil } = wallet;
  const [available, dates] = availableUntil > now ? ['w.available_cents', []] : [AVAILABLE, availableParameters(now)];
  const parameters = [...dates, now, merchantId, id];
  const [row] = await manager.query<[Record<'available' | 'expired' | 'held', string>]>(
    sumsWith(available),
    parameters,
  );
  const availableCents = exactCents(row.available);
  const pendingCents = exactCents(balanceCents - availableCents - exactCents(row.expired));
  return { id, availableCents, pendingCents, heldCents: exactCents(row.held), debtCents };
}

/**
 * Locks wallets of one merchant and adds them up: what they have is not changed before the event that says it. The
 * wallets are locked in the order of `column`. A conflict with a use case that locks several is retried.
 *
 * @param onLocked leaves out wallets that another transaction has locked; otherwise they are waited for.
 * @returns the sums by `column`, without the wallets that do not exist.
 */
export async function lockAndSum(
  manager: EntityManager,
  merchantId: string,
  column: 'id' | 'document',
  values: readonly string[],
  now: Date,
  onLocked?: 'skip_locked',
): Promise<Map<string, WalletSums>> {
  const lock = { mode: 'pessimistic_write', ...(onLocked && { onLocked }) } as const;
  const wallets = await manager.find(Wallet, { where: { merchantId, [column]: In(values) }, lock });
  const sums = new Map<string, WalletSums>();
  for (const wallet of wallets) sums.set(wallet[column], await sumWallet(manager, wallet, now));
  return sums;
}

async function first(manager: EntityManager, sql: string, parameters: unknown[]): Promise<DatedAmount | null> {
  const [row] = await manager.query<{ at: Date; cents: string }[]>(sql, parameters);
  return row === undefined ? null : { at: row.at, cents: exactCents(row.cents) };
}
