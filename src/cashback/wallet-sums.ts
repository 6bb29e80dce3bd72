import type { EntityManager } from 'typeorm';
import { exactCents } from '../platform/values/money.js';
import { Wallet, type WalletOwner } from './wallet.entity.js';

/**
 * SQL expressions for the sums of a wallet `w`, which the query finds by a unique key. The wallet stores its sums at
 * the last write, so the expressions only read the credits whose dates have passed since.
 */

/** What remains of a credit and is not held. */
export const FREE = '(remaining_cents - held_cents)';

const passed = (credits: string, dates: string): string =>
  `COALESCE((SELECT SUM${FREE} FROM cashback_credits ${credits}
              WHERE ${credits}.wallet_id = w.id AND ${credits}.merchant_id = w.merchant_id AND is_open = 1 AND ${dates}), 0)`;

const RELEASED = 'available_at > w.available_as_of AND available_at <= ?';

/** Centavos that a customer can spend. */
export const AVAILABLE = `(
  w.available_cents
  + ${passed('released', `${RELEASED} AND expires_at > ?`)}
  - ${passed('expired', 'expires_at > w.available_as_of AND expires_at <= ? AND available_at <= w.available_as_of')})`;

export const availableParameters = (now: Date): Date[] => [now, now, now];

/** Centavos that are not available yet. The parameter is the current instant. */
const PENDING = `(w.pending_cents - ${passed('released', RELEASED)})`;

/**
 * Centavos that a customer can spend if no date has changed them since the wallet was last written, else NULL. The
 * parameter is the current instant. AVAILABLE takes the database ten times as long, most of it to plan the statement.
 */
export const UNCHANGED_AVAILABLE = 'IF(w.available_until > ?, w.available_cents, NULL)';

/** The date of a change that never comes. */
export const NEVER = new Date('9999-12-31T23:59:59.999Z');
export const NEVER_SQL = "TIMESTAMP'9999-12-31 23:59:59.999'";

const firstAfter = (date: string): string =>
  `COALESCE((SELECT MIN(${date}) FROM cashback_credits
              WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND ${date} > ?), ${NEVER_SQL})`;

/** When a date first changes the sums of a wallet after an instant. It reads one row of each index. */
export const NEXT_CHANGE = `LEAST(${firstAfter('available_at')}, ${firstAfter('expires_at')})`;

export const nextChangeParameters = (walletId: string, merchantId: string, now: Date): (string | Date)[] => [
  ...[walletId, merchantId, now],
  ...[walletId, merchantId, now],
];

/** An amount that changes its state at an instant. */
export interface DatedAmount {
  cents: number;
  at: Date;
}

/** The sums of a wallet at an instant, in centavos. */
export type WalletSums = Pick<Wallet, 'id' | 'availableCents' | 'pendingCents' | 'heldCents' | 'debtCents' | 'frozen'>;

/** The sums of a wallet, its customer, whether it is frozen, and the next dates that change the sums. */
export interface WalletSummary
  extends WalletSums, Pick<Wallet, 'freezeChangedAt' | 'freezeChangedBy' | 'freezeReason'> {
  document: string;
  nextRelease: DatedAmount | null;
  nextExpiry: DatedAmount | null;
}

const NEXT_RELEASE = `
  SELECT available_at AS at, SUM${FREE} AS cents FROM cashback_credits FORCE INDEX (ix_cashback_credits_release)
   WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND available_at > ? GROUP BY available_at ORDER BY available_at LIMIT 1`;

const NEXT_EXPIRY = `
  SELECT MIN(wallet_id) AS id, expires_at AS at, SUM${FREE} AS cents FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
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
  const { id } = wallet;
  const at = readAt(wallet, now);
  await bringUpToDate(manager, [[wallet, at]]);
  const [release] = await manager.query<DatedRow[]>(NEXT_RELEASE, [id, merchantId, at]);
  const expiries = await nextExpiries(manager, [wallet], now);
  return { ...wallet, nextRelease: release ? datedAmount(release) : null, nextExpiry: expiries.get(id) ?? null };
}

/** The instant for the sums of a wallet: the clock of the instance that wrote it last can be ahead. */
export const readAt = ({ availableAsOf }: Wallet, now: Date): Date => (availableAsOf > now ? availableAsOf : now);

interface DatedRow {
  at: Date;
  cents: string;
}

const datedAmount = ({ at, cents }: DatedRow): DatedAmount => ({ cents: exactCents(cents), at });

/** Returns what expires next of what is available in each wallet, by the ID of those that have something available. */
export async function nextExpiries(
  manager: EntityManager,
  wallets: readonly Wallet[],
  now: Date,
): Promise<ReadonlyMap<string, DatedAmount>> {
  if (wallets.length === 0) return new Map();
  const rows = await manager.query<(DatedRow & { id: string })[]>(
    wallets.map(() => `(${NEXT_EXPIRY})`).join(' UNION ALL '),
    wallets.flatMap((wallet) => [wallet.id, wallet.merchantId, readAt(wallet, now), readAt(wallet, now)]),
  );
  return new Map(rows.map((row) => [row.id, datedAmount(row)]));
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
