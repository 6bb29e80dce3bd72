import { type EntityManager } from 'typeorm';
import { type Answer } from '../platform/database/reads.js';
import { queryNamed } from '../platform/database/rows.js';
import { amountsOf, exactCents } from '../platform/values/money.js';
import { dayOf, firstOfNextMonth } from '../platform/values/time.js';
import { type ExpiringReportDto } from './expiring.dto.js';
import { type Wallet } from './wallet.entity.js';

/**
 * Returns a statement that adds up what remains of a merchant's credits `c`, by its first column. Of the spent credits
 * it reads only those that pending orders hold completely, so a group can have two rows.
 *
 * @param isOfWallet whether it reads only the credits of one wallet, which has the customer's `document`.
 */
export const ofUnspent = (columns: string, isOfWallet = false): string => {
  const onlyOf = (column: string): string => (isOfWallet ? `AND ${column}` : '');
  return `
  SELECT ${columns} FROM wallets w JOIN cashback_credits c ON c.wallet_id = w.id AND c.merchant_id = w.merchant_id AND c.is_open = 1
   WHERE w.merchant_id = :merchantId ${onlyOf('w.id = :id')} GROUP BY 1
  UNION ALL
  SELECT ${columns} FROM cashback_credits c
   WHERE c.merchant_id = :merchantId ${onlyOf('c.wallet_id = :id')} AND c.is_open = 0 AND c.id IN (
     SELECT h.credit_id FROM orders o JOIN cashback_holds h ON h.order_id = o.id AND h.merchant_id = o.merchant_id
      WHERE o.merchant_id = :merchantId ${onlyOf('o.document = :document')} AND o.status = 'pending')
   GROUP BY 1`;
};

/** The open credits of a merchant that a request reads. */
export const MAX_CREDITS = 300_000;

const COUNT = `
  SELECT COUNT(*) AS count FROM (
    SELECT 1 FROM cashback_credits FORCE INDEX (ix_cashback_credits_merchant)
     WHERE merchant_id = ? AND is_open = 1 LIMIT ${MAX_CREDITS + 1}) open`;

/** Whether a merchant has more open credits than a request reads. */
export async function hasManyCredits(manager: EntityManager, merchantId: string): Promise<boolean> {
  const [row] = await manager.query<{ count: string }[]>(COUNT, [merchantId]);
  return Number(row!.count) > MAX_CREDITS;
}

const SUMS = 'c.expires_at AS at, SUM(c.remaining_cents) AS expiring, SUM(c.held_cents) AS held';

interface Sums {
  at: Date;
  expiring: string;
  held: string;
}

/**
 * Reports what expires in the current month and the following ones, of a merchant's credits or of those of one wallet.
 * An amount counts in the month in which the ledger will have its expiry: what has expired and is still held or not yet
 * written counts in the current month. Of a merchant with too many open credits, no amount is known.
 */
export const EXPIRING: Answer<{ months: number; wallet?: Wallet }, ExpiringReportDto> = async (asked) => {
  const { manager, merchantId, query, timeZone, now } = asked;
  const months: string[] = [];
  for (let day = dayOf(now, timeZone); months.length < query.months; day = firstOfNextMonth(day))
    months.push(day.slice(0, 7));
  if (query.wallet === undefined && (await hasManyCredits(manager, merchantId)))
    return { data: months.map((month) => ({ month, expiring: null, held: null })) };
  const cents = months.map(() => ({ expiring: 0, held: 0 }));
  const of = { merchantId, id: query.wallet?.id, document: query.wallet?.document };
  for (const row of await queryNamed<Sums>(manager, ofUnspent(SUMS, query.wallet !== undefined), of)) {
    const month = dayOf(row.at, timeZone).slice(0, 7);
    const sums = cents[month < months[0]! ? 0 : months.indexOf(month)];
    if (sums === undefined) continue;
    sums.expiring = exactCents(sums.expiring + exactCents(row.expiring));
    sums.held = exactCents(sums.held + exactCents(row.held));
  }
  return { data: months.map((month, at) => ({ month, ...amountsOf(cents[at]!) })) };
};
