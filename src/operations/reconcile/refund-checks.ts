import { inPage, madeAt, type SqlChecks } from './page.js';

/**
 * The sums of entries `e` that an order and a refund have too. What repays a debt is taken from a credit (`take_back`)
 * and from the debt (`repay`): the two cancel out.
 */
export const ENTRY_SUMS = `
  SUM(CASE WHEN e.kind = 'return' THEN e.amount_cents ELSE 0 END) AS return_entries,
  SUM(CASE WHEN e.kind = 'take_back' THEN -e.amount_cents WHEN e.kind IN ('debt', 'repay') THEN e.amount_cents ELSE 0 END) AS take_back_entries`;

/** Checks of holds and refunds, by order. */
export const REFUND_CHECKS: SqlChecks = {
  'a hold is that of a pending order of the customer, on a credit that was available': `
    SELECT h.order_id, h.credit_id, h.merchant_id, c.wallet_id, o.status, c.available_at, c.expires_at
      FROM cashback_holds h
      LEFT JOIN cashback_credits c ON c.id = h.credit_id
      LEFT JOIN wallets w ON w.id = c.wallet_id
      LEFT JOIN orders o ON o.id = h.order_id
     WHERE ${inPage('h.order_id')}
       AND NOT COALESCE(o.status = 'pending' AND h.merchant_id = o.merchant_id AND w.merchant_id = o.merchant_id AND w.document = o.document
                        AND h.amount_cents > 0 AND c.available_at <= o.updated_at AND c.expires_at > o.created_at, FALSE)`,

  'a refund belongs to a completed order and its merchant': `
    SELECT r.id AS refund_id, r.merchant_id, r.order_id, o.status, r.created_at, o.completed_at
      FROM refunds r LEFT JOIN orders o ON o.id = r.order_id
     WHERE ${inPage('r.order_id')}
       AND NOT COALESCE(r.merchant_id = o.merchant_id AND r.created_at >= o.completed_at AND ${madeAt('r.id', 'r.created_at')}, FALSE)`,

  'a refund has the eligible part that its request asks for, and all of its amount if the whole order is eligible': `
    SELECT r.id AS refund_id, r.order_id, r.amount_cents, r.eligible_cents, r.requested_eligible_cents, o.eligible_total_cents
      FROM refunds r JOIN orders o ON o.id = r.order_id
     WHERE ${inPage('r.order_id')}
       AND (r.eligible_cents NOT BETWEEN 0 AND r.amount_cents OR r.requested_eligible_cents <> r.eligible_cents
            OR (o.eligible_total_cents IS NULL AND (r.eligible_cents <> r.amount_cents OR r.requested_eligible_cents IS NOT NULL)))`,

  'the amounts of a refund are the sums of its entries, apart from what it can have claimed': `
    SELECT r.id AS refund_id, r.order_id, r.returned_cents, r.taken_back_cents, s.return_entries, s.take_back_entries, c.claimed_cents
      FROM refunds r
      LEFT JOIN (SELECT e.refund_id, ${ENTRY_SUMS} FROM refunds r JOIN cashback_entries e ON e.refund_id = r.id
                  WHERE ${inPage('r.order_id')} GROUP BY e.refund_id) s ON s.refund_id = r.id
      LEFT JOIN cashback_credits c ON c.order_id = r.order_id
     WHERE ${inPage('r.order_id')}
       AND (r.returned_cents <> COALESCE(s.return_entries, 0)
            OR r.taken_back_cents - COALESCE(s.take_back_entries, 0) NOT BETWEEN 0 AND COALESCE(c.claimed_cents, 0))`,
};
