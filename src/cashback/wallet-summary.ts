import type { EntityManager } from 'typeorm';
import { exactCents, sumCents } from '../common/money.js';
import {
  AVAILABLE_BY_DATE,
  availableByDateParameters,
  REINSTATED_UNTIL,
  LAPSED_HOLDS,
  lapsedHoldsParameters,
} from './balance-sql.js';
import type { Credit } from './credit.entity.js';
import { isAvailable } from './movements.js';
import type { WalletAggregate } from './wallet-aggregate.js';
import { openCredits, viewWallet } from './wallet-rows.js';
import type { WalletOwner } from './wallet.entity.js';

/** Maximum number of open credits that are read of a customer with a debt. */
const MOST_CREDITS_OF_DEBTOR = 5000;

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
  SELECT w.id, w.balance_cents, w.debt_cents, ${AVAILABLE_BY_DATE} AS by_date_cents,
         COALESCE((SELECT SUM(h.amount_cents) ${LAPSED_HOLDS}), 0) AS lapsed_cents,
         COALESCE((SELECT SUM(e.remaining_cents) FROM cashback_credits e
                    WHERE e.wallet_id = w.id AND e.merchant_id = w.merchant_id AND e.is_open = 1 AND e.expires_at <= ?), 0) AS expired_cents,
         COALESCE((SELECT SUM(f.amount_cents) FROM cashback_holds f
                    WHERE f.wallet_id = w.id AND f.merchant_id = w.merchant_id AND f.expires_at > ?), 0) AS held_cents
    FROM wallets w WHERE w.merchant_id = ? AND w.document = ?`;

const NEXT_RELEASE = `
  SELECT available_at AS at, SUM(remaining_cents) AS cents FROM cashback_credits FORCE INDEX (ix_cashback_credits_release)
   WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND available_at > ? GROUP BY available_at ORDER BY available_at LIMIT 1`;

/** Credits that are available now, and the amounts that lapsed holds return to credits. */
const NEXT_EXPIRY = `
  SELECT at, SUM(cents) AS cents FROM (
    (SELECT expires_at AS at, SUM(remaining_cents) AS cents FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
      WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at > ? AND available_at <= ?
      GROUP BY expires_at ORDER BY expires_at LIMIT 1)
     UNION ALL
    (SELECT IF(c.expires_at > ?, c.expires_at, ${REINSTATED_UNTIL}) AS at, SUM(h.amount_cents) AS cents
       ${LAPSED_HOLDS.replace('w.id', '?').replace('w.merchant_id', '?')}
      GROUP BY at ORDER BY at LIMIT 1)) next
   GROUP BY at ORDER BY at LIMIT 1`;

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
  const [sums] = await manager.query<Record<string, string>[]>(SUMS, [
    ...availableByDateParameters(now),
    ...lapsedHoldsParameters(now),
    now,
    now,
    merchantId,
    document,
  ]);
  if (sums?.id === undefined) return null;
  const cents = (column: string): number => exactCents(sums[column] ?? 0);
  if (cents('debt_cents') > 0) {
    const wallet = await viewWallet(manager, { merchantId, document }, now);
    if (wallet !== null) return summarizeDebtor(manager, wallet, cents('held_cents'));
  }
  return {
    id: sums.id,
    availableCents: exactCents(cents('by_date_cents') + cents('lapsed_cents')),
    pendingCents: exactCents(cents('balance_cents') - cents('by_date_cents') - cents('expired_cents')),
    heldCents: cents('held_cents'),
    debtCents: cents('debt_cents'),
    nextRelease: await first(manager, NEXT_RELEASE, [sums.id, merchantId, now]),
    nextExpiry: await first(manager, NEXT_EXPIRY, [
      ...[sums.id, merchantId, now, now, now],
      ...[sums.id, merchantId, ...lapsedHoldsParameters(now)],
    ]),
  };
}

/**
 * Adds up the wallet of a customer with a debt, in which lapsed holds have repaid debt. It has few open credits,
 * because they repay debt too.
 */
async function summarizeDebtor(
  manager: EntityManager,
  wallet: WalletAggregate,
  heldCents: number,
): Promise<WalletSummary> {
  const { now } = wallet;
  const page = { wallet: wallet.wallet, now, after: undefined, limit: MOST_CREDITS_OF_DEBTOR, availableOnly: false };
  wallet.load(await openCredits(manager, page));
  const credits = [...wallet.credits].filter(({ remainingCents }) => remainingCents > 0);
  const pending = credits.filter(({ availableAt }) => availableAt > now);
  const available = credits.filter((credit) => isAvailable(credit, now));
  return {
    id: wallet.wallet.id,
    availableCents: wallet.availableCents,
    pendingCents: sumCents(pending.map(({ remainingCents }) => remainingCents)),
    heldCents,
    debtCents: wallet.wallet.debtCents,
    nextRelease: next(pending, 'availableAt'),
    nextExpiry: next(available, 'expiresAt'),
  };
}

/** Returns the earliest of a date of credits, with the sum of the credits that have it. */
function next(credits: readonly Credit[], date: 'availableAt' | 'expiresAt'): DatedAmount | null {
  const at = Math.min(...credits.map((credit) => credit[date].getTime()));
  if (credits.length === 0) return null;
  const same = credits.filter((credit) => credit[date].getTime() === at);
  return { at: new Date(at), cents: sumCents(same.map(({ remainingCents }) => remainingCents)) };
}

async function first(manager: EntityManager, sql: string, parameters: unknown[]): Promise<DatedAmount | null> {
  const [row] = await manager.query<{ at: Date; cents: string }[]>(sql, parameters);
  return row === undefined ? null : { at: row.at, cents: exactCents(row.cents) };
}
