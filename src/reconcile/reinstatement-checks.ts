import type { EntityManager } from 'typeorm';
import { reinstatementEnd } from '../cashback/validity.js';
import { type Policy, policyFrom } from '../merchants/policy.js';
import { type Finding, inPage, type Page, queryPage, type SqlChecks } from './page.js';
import { isSameStart } from './order-dates.js';
import type { Parse } from './order-record.js';

/** SQL condition: the entry returned an amount to its credit. A captured hold is released and redeemed at once. */
const isReturn = (entry: string): string => `${entry}.kind IN ('release', 'restore') AND NOT EXISTS (
  SELECT 1 FROM cashback_entries captured
   WHERE captured.wallet_id = ${entry}.wallet_id AND captured.seq = ${entry}.seq + 1 AND captured.kind = 'redeem'
     AND captured.credit_id = ${entry}.credit_id AND captured.order_id = ${entry}.order_id)`;

/** Checks of what returns to expired credits, by wallet. */
export const RETURN_CHECKS: SqlChecks = {
  'a credit expired at its expiry, or was available again for some days since then': `
    SELECT c.id AS credit_id, c.original_expires_at, c.expires_at, e.wallet_id, e.seq, e.effective_at
      FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id
     WHERE ${inPage('e.wallet_id')} AND e.kind = 'expire' AND e.effective_at <> c.expires_at
       AND NOT (e.effective_at <=> c.original_expires_at)`,

  'an amount that returns to an expired credit makes it available again or, if it was before, expires at once': `
    SELECT c.id AS credit_id, c.original_expires_at, c.expires_at, e.wallet_id, e.seq, e.kind, e.amount_cents, e.effective_at
      FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id
     WHERE ${inPage('e.wallet_id')} AND e.effective_at >= c.expires_at AND ${isReturn('e')}
       AND (c.original_expires_at IS NULL OR NOT EXISTS (
             SELECT 1 FROM cashback_entries x
              WHERE x.wallet_id = e.wallet_id AND x.seq = e.seq + 1 AND x.kind = 'expire' AND x.credit_id = e.credit_id
                AND x.amount_cents = -e.amount_cents))`,
};

/** Reinstated credits, each with the first amount that returned after the expiry. */
const CREDITS = `
  SELECT c.id AS credit_id, c.wallet_id, c.available_at, c.original_expires_at, c.expires_at, e.seq, e.kind,
         e.effective_at AS reinstated_at, CAST(o.policy AS CHAR) AS policy,
         (SELECT MAX(h.effective_at) FROM cashback_entries h
           WHERE h.credit_id = c.id AND h.kind = 'hold' AND h.effective_at >= c.original_expires_at
             AND h.effective_at < e.effective_at) AS held_at
    FROM cashback_credits c
    LEFT JOIN cashback_entries e ON e.wallet_id = c.wallet_id AND e.seq = (
      SELECT f.seq FROM cashback_entries f
       WHERE f.wallet_id = c.wallet_id AND f.credit_id = c.id AND f.effective_at >= c.original_expires_at AND ${isReturn('f')}
       ORDER BY f.effective_at, f.seq LIMIT 1)
    LEFT JOIN orders o ON o.id = e.order_id
   WHERE ${inPage('c.wallet_id')} AND c.original_expires_at IS NOT NULL`;

interface CreditRow extends Record<string, unknown> {
  available_at: Date;
  original_expires_at: Date;
  expires_at: Date;
  reinstated_at: Date | null;
  held_at: Date | null;
  policy: string | null;
}

/**
 * Finds credits with wrong dates of a return. They depend on the time zone, which only this process knows.
 */
export async function wrongReinstatements(manager: EntityManager, page: Page, parse: Parse): Promise<Finding[]> {
  const policyOf = (row: { policy: string | null }): Policy => policyFrom(parse(row.policy) as Partial<Policy>);
  const credits = await queryPage<CreditRow>(manager, CREDITS, page);
  return credits
    .filter((credit) => !isReinstatedOnce(credit, policyOf(credit)))
    .map(({ policy: _, ...figures }) => ({
      invariant: 'a credit is reinstated once, with the first amount that returned after its expiry, and for 7 days',
      ...figures,
    }));
}

function isReinstatedOnce(credit: CreditRow, policy: Policy): boolean {
  const { reinstated_at: reinstatedAt, expires_at: expiresAt } = credit;
  if (reinstatedAt === null || credit.held_at !== null || credit.original_expires_at <= credit.available_at)
    return false;
  return isSameStart(expiresAt, reinstatementEnd(policy, reinstatedAt));
}
