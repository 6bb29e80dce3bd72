import { CLOCK_MARGIN, inPage, type SqlChecks } from './page.js';

/** SQL condition: cashback that the order earned expired unspent. A refund takes nothing back for it. */
const HAS_EXPIRED_UNSPENT = `EXISTS (
  SELECT 1 FROM cashback_credits c JOIN cashback_entries x ON x.credit_id = c.id AND x.kind = 'expire' WHERE c.order_id = o.id)`;

/**
 * Checks of refunds, by order. The amount that a refund moves is the difference of two rounded totals, so it is less
 * than a centavo away from its share of the order, whatever the sequence of the refunds.
 */
export const REFUND_CHECKS: SqlChecks = {
  'a refund belongs to a completed order and its merchant': `
    SELECT r.id AS refund_id, r.merchant_id, r.order_id, o.status, r.created_at, o.completed_at
      FROM refunds r LEFT JOIN orders o ON o.id = r.order_id
     WHERE ${inPage('r.order_id')} AND (o.completed_at IS NULL OR r.merchant_id <> o.merchant_id OR r.created_at < o.completed_at - ${CLOCK_MARGIN})`,

  'a refund returns and takes back its share of the amounts that the order redeemed and earned': `
    SELECT r.id AS refund_id, r.order_id, r.amount_cents, r.returned_cents, r.taken_back_cents, o.total_cents, o.redemption_cents, o.earned_cents
      FROM refunds r JOIN orders o ON o.id = r.order_id
     WHERE ${inPage('r.order_id')}
       AND (r.amount_cents <= 0 OR ${awayFromItsShare('r.returned_cents', 'o.redemption_cents')}
            OR (${awayFromItsShare('r.taken_back_cents', 'o.earned_cents')}
                AND NOT (${isBelowItsShare('r.taken_back_cents', 'o.earned_cents')} AND ${HAS_EXPIRED_UNSPENT})))`,

  'the amounts of a refund are the sums of its entries, which have the same instant': `
    SELECT r.id AS refund_id, r.order_id, r.returned_cents, r.taken_back_cents, r.created_at,
           COALESCE(SUM(CASE WHEN e.kind = 'restore' THEN e.amount_cents END), 0) AS restore_entries,
           COALESCE(SUM(CASE WHEN e.kind = 'clawback' THEN -e.amount_cents WHEN e.kind = 'debt' THEN e.amount_cents END), 0) AS clawback_entries,
           MIN(e.created_at) AS first_entry_at, MAX(e.created_at) AS last_entry_at
      FROM refunds r LEFT JOIN cashback_entries e ON e.refund_id = r.id
     WHERE ${inPage('r.order_id')}
     GROUP BY r.id, r.order_id, r.returned_cents, r.taken_back_cents, r.created_at
    HAVING r.returned_cents <> COALESCE(SUM(CASE WHEN e.kind = 'restore' THEN e.amount_cents END), 0)
        OR r.taken_back_cents <> COALESCE(SUM(CASE WHEN e.kind = 'clawback' THEN -e.amount_cents WHEN e.kind = 'debt' THEN e.amount_cents END), 0)
        OR MIN(e.created_at) < r.created_at - ${CLOCK_MARGIN} OR MAX(e.created_at) > r.created_at + ${CLOCK_MARGIN}`,
};

function isBelowItsShare(part: string, whole: string): string {
  return `CAST(${part} AS DECIMAL(40)) * o.total_cents < CAST(${whole} AS DECIMAL(40)) * r.amount_cents`;
}

/** SQL condition: a part of a refund is a centavo or more away from whole × amount / total. DECIMAL is exact. */
function awayFromItsShare(part: string, whole: string): string {
  return `ABS(CAST(${part} AS DECIMAL(40)) * o.total_cents - CAST(${whole} AS DECIMAL(40)) * r.amount_cents) >= o.total_cents`;
}
