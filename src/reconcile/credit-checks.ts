import { CLOCK_MARGIN, inPage, type SqlChecks } from './page.js';

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
      LEFT JOIN (SELECT e.credit_id, SUM(e.amount_cents) AS entries_cents, SUM(e.kind IN ('earn', 'grant')) AS origins
                   FROM cashback_entries e WHERE ${inPage('e.wallet_id')} GROUP BY e.credit_id) s ON s.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND (s.credit_id IS NULL OR c.remaining_cents <> s.entries_cents OR c.remaining_cents < 0
            OR c.remaining_cents > c.amount_cents OR s.origins <> 1)`,

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

  'a credit was only held while it was available': `
    SELECT c.id AS credit_id, c.available_at, c.expires_at, e.wallet_id, e.seq, e.effective_at
      FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id
     WHERE ${inPage('e.wallet_id')} AND e.kind = 'hold' AND (e.effective_at < c.available_at OR e.effective_at >= c.expires_at)`,

  'refunds of an order return no more to a credit than the order redeemed from it': `
    SELECT e.wallet_id, e.order_id, e.credit_id, SUM(e.amount_cents) AS entries_cents
      FROM cashback_entries e
     WHERE ${inPage('e.wallet_id')} AND e.kind IN ('redeem', 'restore')
     GROUP BY e.wallet_id, e.order_id, e.credit_id
    HAVING SUM(e.amount_cents) > 0`,

  'a hold belongs to the customer of its pending order, and is on a credit of that wallet': `
    SELECT h.order_id, h.credit_id, h.merchant_id, h.wallet_id, c.wallet_id AS credit_wallet_id, o.status, h.amount_cents
      FROM cashback_holds h
      LEFT JOIN wallets w ON w.id = h.wallet_id
      LEFT JOIN cashback_credits c ON c.id = h.credit_id
      LEFT JOIN orders o ON o.id = h.order_id
     WHERE ${inPage('h.wallet_id')}
       AND (w.id IS NULL OR c.id IS NULL OR o.id IS NULL OR c.wallet_id <> h.wallet_id
            OR h.merchant_id <> w.merchant_id OR o.merchant_id <> w.merchant_id OR o.document <> w.document
            OR o.status <> 'pending' OR h.amount_cents <= 0)`,

  'the held amount is the sum of the hold and release entries, for each order and credit': `
    SELECT x.order_id, x.credit_id, SUM(x.held_cents) AS held_cents, SUM(x.entries_cents) AS entries_cents
      FROM (SELECT h.order_id, h.credit_id, h.amount_cents AS held_cents, 0 AS entries_cents
              FROM cashback_holds h WHERE ${inPage('h.wallet_id')}
             UNION ALL
            SELECT e.order_id, e.credit_id, 0, e.amount_cents
              FROM cashback_entries e WHERE ${inPage('e.wallet_id')} AND e.kind IN ('hold', 'release')) x
     GROUP BY x.order_id, x.credit_id
    HAVING SUM(x.held_cents) <> -SUM(x.entries_cents)`,

  'a hold names the last entry that held from its credit for its order': `
    SELECT h.order_id, h.credit_id, h.entry_seq, s.last_seq
      FROM cashback_holds h
      LEFT JOIN (SELECT e.order_id, e.credit_id, MAX(e.seq) AS last_seq
                   FROM cashback_entries e WHERE ${inPage('e.wallet_id')} AND e.kind = 'hold'
                  GROUP BY e.order_id, e.credit_id) s ON s.order_id = h.order_id AND s.credit_id = h.credit_id
     WHERE ${inPage('h.wallet_id')} AND NOT (h.entry_seq <=> s.last_seq)`,

  'a grant has a credit that no order earned, with its merchant': `
    SELECT g.credit_id, g.merchant_id, c.order_id, w.merchant_id AS wallet_merchant_id
      FROM cashback_credits c
      JOIN wallets w ON w.id = c.wallet_id
      JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')} AND (c.order_id IS NOT NULL OR w.merchant_id <> g.merchant_id)`,

  'a credit that no order earned has a grant': `
    SELECT c.id AS credit_id, c.merchant_id, c.wallet_id
      FROM cashback_credits c LEFT JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')} AND c.order_id IS NULL AND g.credit_id IS NULL`,

  'the credit of a grant exists': `
    SELECT g.credit_id, g.merchant_id
      FROM cashback_grants g LEFT JOIN cashback_credits c ON c.id = g.credit_id
     WHERE ${inPage('g.credit_id')} AND c.id IS NULL`,

  // The end of a day in any time zone is 10 to 36 hours after its beginning in UTC.
  'a grant is available and first expires at the requested dates': `
    SELECT g.credit_id, g.requested_available_at, c.available_at, g.requested_expires_at, g.requested_expires_on, c.original_expires_at, c.expires_at
      FROM cashback_credits c JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND (c.available_at <> g.requested_available_at
            OR COALESCE(c.original_expires_at, c.expires_at) <> g.requested_expires_at
            OR (g.requested_expires_at IS NULL AND COALESCE(c.original_expires_at, c.expires_at)
                NOT BETWEEN CAST(g.requested_expires_on AS DATETIME) + INTERVAL 10 HOUR
                        AND CAST(g.requested_expires_on AS DATETIME) + INTERVAL 36 HOUR))`,

  'what was taken back of a grant is what its void entries add up to, and the first one has the date': `
    SELECT x.credit_id, SUM(x.voided_cents) AS voided_cents, MAX(x.voided_at) AS voided_at, SUM(x.entries_cents) AS entries_cents,
           MIN(x.entry_at) AS first_entry_at
      FROM (SELECT g.credit_id, c.created_at, g.voided_cents, g.voided_at, 0 AS entries_cents, NULL AS entry_at
              FROM cashback_credits c JOIN cashback_grants g ON g.credit_id = c.id WHERE ${inPage('c.wallet_id')}
             UNION ALL
            SELECT e.credit_id, NULL, NULL, NULL, e.amount_cents, e.created_at
              FROM cashback_entries e WHERE ${inPage('e.wallet_id')} AND e.kind = 'void') x
     GROUP BY x.credit_id
    HAVING COALESCE(SUM(x.voided_cents), 0) <> -SUM(x.entries_cents)
        OR (MAX(x.voided_cents) IS NULL) <> (MAX(x.voided_at) IS NULL)
        OR MAX(x.voided_at) < MAX(x.created_at) - ${CLOCK_MARGIN}
        OR MIN(x.entry_at) < MAX(x.voided_at) - ${CLOCK_MARGIN}`,
};
