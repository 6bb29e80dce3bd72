import { inPage, type SqlChecks } from './page.js';

/** Checks of credits, their holds and their grants, by wallet. */
export const CREDIT_CHECKS: SqlChecks = {
  // That its order exists and is of the same customer follows from the entry that earned it.
  'a credit belongs to an existing wallet and its merchant': `
    SELECT c.id AS credit_id, c.merchant_id, c.wallet_id, w.id AS existing_wallet_id
      FROM cashback_credits c LEFT JOIN wallets w ON w.id = c.wallet_id
     WHERE ${inPage('c.wallet_id')} AND (w.id IS NULL OR c.merchant_id <> w.merchant_id)`,

  'the remaining amount of a credit is the sum of its entries, from 0 to its amount': `
    SELECT c.id AS credit_id, c.remaining_cents, c.amount_cents, s.entries_cents, s.origins
      FROM cashback_credits c
      LEFT JOIN (SELECT e.credit_id, SUM(e.amount_cents) AS entries_cents, SUM(e.kind IN ('earn', 'grant', 'return')) AS origins
                   FROM cashback_entries e WHERE ${inPage('e.wallet_id')} GROUP BY e.credit_id) s ON s.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND (s.credit_id IS NULL OR c.remaining_cents <> s.entries_cents OR c.remaining_cents < 0
            OR c.remaining_cents > c.amount_cents OR s.origins < 1)`,

  'a credit has the amount, order and date of the entry that earned or granted it': `
    SELECT c.id AS credit_id, e.wallet_id, e.seq, e.kind, c.amount_cents, e.amount_cents AS entry_cents, c.order_id,
           e.order_id AS entry_order_id, c.created_at, e.created_at AS entry_created_at
      FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id
     WHERE ${inPage('e.wallet_id')} AND e.kind IN ('earn', 'grant')
       AND (c.amount_cents <> e.amount_cents OR NOT (c.order_id <=> e.order_id) OR c.created_at <> e.created_at)`,

  'a credit becomes available before it expires': `
    SELECT c.id AS credit_id, c.created_at, c.available_at, c.expires_at
      FROM cashback_credits c
     WHERE ${inPage('c.wallet_id')} AND (c.available_at >= c.expires_at OR c.created_at >= c.expires_at)`,

  'a grant has a credit that no order earned, with its merchant': `
    SELECT g.credit_id, g.merchant_id, c.order_id, w.merchant_id AS wallet_merchant_id
      FROM cashback_credits c
      JOIN wallets w ON w.id = c.wallet_id
      JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')} AND (c.order_id IS NOT NULL OR w.merchant_id <> g.merchant_id)`,

  'a credit that no order earned has a grant': `
    SELECT c.id AS credit_id, c.merchant_id, c.wallet_id
      FROM cashback_credits c LEFT JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')} AND c.order_id IS NULL AND c.refund_id IS NULL AND g.credit_id IS NULL`,

  'the credit of a grant exists': `
    SELECT g.credit_id, g.merchant_id
      FROM cashback_grants g LEFT JOIN cashback_credits c ON c.id = g.credit_id
     WHERE ${inPage('g.credit_id')} AND c.id IS NULL`,

  // The end of a day in any time zone is 10 to 36 hours after its beginning in UTC.
  'a grant is available and first expires at the requested dates': `
    SELECT g.credit_id, g.requested_available_at, c.available_at, g.requested_expires_at, g.requested_expires_on, c.expires_at
      FROM cashback_credits c JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND (c.available_at <> g.requested_available_at
            OR c.expires_at <> g.requested_expires_at
            OR (g.requested_expires_at IS NULL AND c.expires_at
                NOT BETWEEN CAST(g.requested_expires_on AS DATETIME) + INTERVAL 10 HOUR
                        AND CAST(g.requested_expires_on AS DATETIME) + INTERVAL 36 HOUR))`,
};
