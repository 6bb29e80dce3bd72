import { endsDay, inPage, isSameText, madeAt, type SqlChecks } from './page.js';

/** Checks of credits and their grants, by wallet. */
export const CREDIT_CHECKS: SqlChecks = {
  // That its order exists and is of the same customer follows from the entry that made it.
  'a credit belongs to an existing wallet and its merchant': `
    SELECT c.id AS credit_id, c.merchant_id, c.wallet_id, w.id AS existing_wallet_id
      FROM cashback_credits c LEFT JOIN wallets w ON w.id = c.wallet_id
     WHERE ${inPage('c.wallet_id')} AND (w.id IS NULL OR c.merchant_id <> w.merchant_id)`,

  'the remaining amount of a credit is the sum of its entries, and its held amount that of its holds, from 0 to its amount; what refunds of its order have claimed is held, and nothing is free then': `
    SELECT c.id AS credit_id, c.order_id, c.claimed_cents, c.held_cents, c.remaining_cents, c.amount_cents, e.entries_cents, h.holds_cents
      FROM cashback_credits c
      LEFT JOIN (SELECT e.credit_id, SUM(e.amount_cents) AS entries_cents
                   FROM cashback_entries e WHERE ${inPage('e.wallet_id')} GROUP BY e.credit_id) e ON e.credit_id = c.id
      LEFT JOIN (SELECT h.credit_id, SUM(h.amount_cents) AS holds_cents FROM cashback_credits c JOIN cashback_holds h ON h.credit_id = c.id
                  WHERE ${inPage('c.wallet_id')} GROUP BY h.credit_id) h ON h.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND NOT (c.remaining_cents <=> e.entries_cents AND c.held_cents = COALESCE(h.holds_cents, 0)
                AND 0 <= c.held_cents AND c.held_cents <= c.remaining_cents AND c.remaining_cents <= c.amount_cents
                AND (c.claimed_cents = 0 OR (c.order_id IS NOT NULL AND c.claimed_cents BETWEEN 1 AND c.held_cents AND c.remaining_cents = c.held_cents)))`,

  'a credit has the amount, order, refund, date and, unless it was returned, store of the entry with its number, which earned, granted or returned it': `
    SELECT c.id AS credit_id, c.wallet_id, c.seq, e.kind, c.amount_cents, e.amount_cents AS entry_cents, c.order_id,
           e.order_id AS entry_order_id, c.refund_id, e.refund_id AS entry_refund_id, c.created_at, e.created_at AS entry_created_at,
           c.store, e.store AS entry_store
      FROM cashback_credits c LEFT JOIN cashback_entries e ON e.wallet_id = c.wallet_id AND e.seq = c.seq
     WHERE ${inPage('c.wallet_id')}
       AND NOT COALESCE(e.credit_id = c.id AND c.amount_cents = e.amount_cents AND c.created_at = e.created_at AND c.refund_id <=> e.refund_id
                        AND ${madeAt('c.id', 'c.created_at')} AND (c.refund_id IS NOT NULL OR ${isSameText('c.store', 'e.store')})
                        AND CASE WHEN c.refund_id IS NOT NULL THEN e.kind = 'return' AND c.order_id IS NULL
                                 WHEN c.moved_order_id IS NOT NULL THEN e.kind = 'earn' AND c.order_id IS NULL AND c.moved_order_id = e.order_id
                                 WHEN c.order_id IS NOT NULL THEN e.kind IN ('earn', 'move_in') AND c.order_id = e.order_id
                                 ELSE e.kind = 'grant' END, FALSE)`,

  'a credit becomes available before it expires, and expires after it was made': `
    SELECT c.id AS credit_id, c.created_at, c.available_at, c.expires_at
      FROM cashback_credits c
     WHERE ${inPage('c.wallet_id')} AND (c.available_at >= c.expires_at OR c.created_at >= c.expires_at)`,

  'a credit that a refund made, and no other, comes from an earned or granted credit of the wallet, with its store': `
    SELECT c.id AS credit_id, c.refund_id, c.from_credit_id, f.wallet_id AS from_wallet_id, f.from_credit_id AS from_from_credit_id,
           c.store, f.store AS from_store
      FROM cashback_credits c LEFT JOIN cashback_credits f ON f.id = c.from_credit_id
     WHERE ${inPage('c.wallet_id')} AND (c.refund_id IS NOT NULL OR c.from_credit_id IS NOT NULL)
       AND NOT COALESCE(c.refund_id IS NOT NULL AND f.wallet_id = c.wallet_id AND f.from_credit_id IS NULL AND f.seq < c.seq
                        AND ${isSameText('c.store', 'f.store')}, FALSE)`,

  'a grant has the credit that no order earned and no refund made, with its merchant': `
    SELECT g.credit_id, g.merchant_id, c.order_id, c.refund_id, w.merchant_id AS wallet_merchant_id
      FROM cashback_grants g
      LEFT JOIN cashback_credits c ON c.id = g.credit_id
      LEFT JOIN wallets w ON w.id = c.wallet_id
     WHERE ${inPage('g.credit_id')}
       AND NOT COALESCE(c.order_id IS NULL AND c.moved_order_id IS NULL AND c.refund_id IS NULL AND w.merchant_id = g.merchant_id, FALSE)`,

  'a credit that no order earned and no refund made has a grant': `
    SELECT c.id AS credit_id, c.merchant_id, c.wallet_id
      FROM cashback_credits c LEFT JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')} AND c.order_id IS NULL AND c.moved_order_id IS NULL AND c.refund_id IS NULL AND g.credit_id IS NULL`,

  'a grant is available and expires at the requested dates': `
    SELECT g.credit_id, c.created_at, g.requested_available_at, g.requested_available_on, c.available_at,
           g.requested_expires_at, g.requested_expires_on, c.expires_at
      FROM cashback_credits c JOIN cashback_grants g ON g.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND NOT (CASE WHEN g.requested_available_at IS NOT NULL THEN c.available_at = g.requested_available_at
                     WHEN c.available_at = c.created_at THEN TRUE
                     ELSE COALESCE(${endsDay('c.available_at + INTERVAL 1 DAY', 'g.requested_available_on')} AND c.available_at > c.created_at, FALSE) END
                AND COALESCE(c.expires_at = g.requested_expires_at, ${endsDay('c.expires_at', 'g.requested_expires_on')}, TRUE))`,

  'what was voided of a grant, by whom and why, is there if it was voided, and is the sum of the void entries on its credit and those that refunds made from it': `
    SELECT g.credit_id, c.created_at, g.voided_cents, g.voided_at, g.voided_by, s.entries_cents, s.first_entry_at
      FROM cashback_credits c
      JOIN cashback_grants g ON g.credit_id = c.id
      LEFT JOIN (SELECT COALESCE(c.from_credit_id, c.id) AS credit_id, SUM(e.amount_cents) AS entries_cents, MIN(e.created_at) AS first_entry_at
                   FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id
                  WHERE ${inPage('e.wallet_id')} AND e.kind = 'void' GROUP BY COALESCE(c.from_credit_id, c.id)) s ON s.credit_id = c.id
     WHERE ${inPage('c.wallet_id')}
       AND (COALESCE(g.voided_cents, 0) <> -COALESCE(s.entries_cents, 0) OR (g.voided_cents IS NULL) <> (g.voided_at IS NULL)
            OR (g.voided_by IS NULL) <> (g.voided_at IS NULL) OR (g.void_reason IS NOT NULL AND g.voided_at IS NULL)
            OR g.voided_at < c.created_at OR g.voided_at > s.first_entry_at)`,
};
