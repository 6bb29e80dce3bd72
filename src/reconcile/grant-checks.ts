import { CAME_BACK_EARLIER } from './comeback-checks.js';
import { CLOCK_MARGIN, inPage, type SqlChecks } from './finding.js';

/** Checks of the grants that have an external ID, by wallet. */
export const GRANT_CHECKS: SqlChecks = {
  'a grant has a credit that no order earned, with its merchant': `
    SELECT g.credit_id, g.merchant_id, c.order_id, w.merchant_id AS wallet_merchant_id
      FROM cashback_credits c
      JOIN wallets w ON w.id = c.wallet_id
      JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')} AND (c.order_id IS NOT NULL OR w.merchant_id <> g.merchant_id)`,

  'the credit of a grant exists': `
    SELECT g.credit_id, g.merchant_id
      FROM cashback_grants g LEFT JOIN cashback_credits c ON c.id = g.credit_id
     WHERE ${inPage('g.credit_id')} AND c.id IS NULL`,

  // The end of a day in any time zone is 10 to 36 hours after its beginning in UTC.
  'a grant first expires at the requested date': `
    SELECT g.credit_id, g.requested_expires_at, g.requested_expires_on, c.original_expires_at, c.expires_at
      FROM cashback_credits c JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND (COALESCE(c.original_expires_at, c.expires_at) <> g.requested_expires_at
            OR (g.requested_expires_at IS NULL AND COALESCE(c.original_expires_at, c.expires_at)
                NOT BETWEEN CAST(g.requested_expires_on AS DATETIME) + INTERVAL 10 HOUR
                        AND CAST(g.requested_expires_on AS DATETIME) + INTERVAL 36 HOUR))
       AND NOT ${CAME_BACK_EARLIER}`,

  'what was taken back of a grant is what its void entries add up to, and the first one has the date': `
    SELECT c.id AS credit_id, g.voided_cents, g.voided_at, COALESCE(SUM(e.amount_cents), 0) AS entries_cents,
           MIN(e.created_at) AS first_entry_at
      FROM cashback_credits c
      LEFT JOIN cashback_grants g ON g.credit_id = c.id
      LEFT JOIN cashback_entries e ON e.credit_id = c.id AND e.kind = 'void'
     WHERE ${inPage('c.wallet_id')}
     GROUP BY c.id, c.created_at, g.voided_cents, g.voided_at
    HAVING COALESCE(g.voided_cents, 0) <> -COALESCE(SUM(e.amount_cents), 0)
        OR (g.voided_cents IS NULL) <> (g.voided_at IS NULL)
        OR g.voided_at < c.created_at - ${CLOCK_MARGIN}
        OR MIN(e.created_at) < g.voided_at - ${CLOCK_MARGIN}`,
};
