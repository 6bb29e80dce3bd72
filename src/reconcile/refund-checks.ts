import { CLOCK_MARGIN, inPage, type SqlChecks } from './page.js';

/** SQL condition: cashback that the order earned expired unspent. A refund takes nothing back for it. */
const HAS_EXPIRED_UNSPENT = `EXISTS (
  SELECT 1 FROM cashback_credits c JOIN cashback_entries x ON x.credit_id = c.id AND x.kind = 'expire' WHERE c.order_id = o.id)`;

/**
 * SQL expression: the part that a refund moved less whole × refunded / total, times the total. Its absolute value is a
 * total or more where the part is a centavo or more away from its share. DECIMAL is exact.
 */
const aboveItsShare = (part: string, whole: string, refunded: string, total: string): string =>
  `(CAST(${part} AS DECIMAL(40)) * ${total} - CAST(${whole} AS DECIMAL(40)) * ${refunded})`;

const ELIGIBLE_TOTAL = 'COALESCE(o.eligible_total_cents, o.total_cents)';
const RETURNED_ABOVE_SHARE = aboveItsShare('r.returned_cents', 'o.redeemed_cents', 'r.amount_cents', 'o.total_cents');
const TAKEN_BACK_ABOVE_SHARE = aboveItsShare(
  'r.taken_back_cents',
  'o.earned_cents',
  'r.eligible_cents',
  ELIGIBLE_TOTAL,
);

/**
 * Checks of refunds, by order. The amount that a refund moves is the difference of two rounded totals, so it is less
 * than a centavo away from its share of the order, whatever the sequence of the refunds.
 */
export const REFUND_CHECKS: SqlChecks = {
  'a refund belongs to a completed order and its merchant': `
    SELECT r.id AS refund_id, r.merchant_id, r.order_id, o.status, r.created_at, o.completed_at
      FROM refunds r LEFT JOIN orders o ON o.id = r.order_id
     WHERE ${inPage('r.order_id')} AND (o.completed_at IS NULL OR r.merchant_id <> o.merchant_id OR r.created_at < o.completed_at - ${CLOCK_MARGIN})`,

  'a refund has the eligible part that its request asks for, and all of its amount if the whole order is eligible': `
    SELECT r.id AS refund_id, r.order_id, r.amount_cents, r.eligible_cents, r.requested_eligible_cents, o.eligible_total_cents
      FROM refunds r JOIN orders o ON o.id = r.order_id
     WHERE ${inPage('r.order_id')}
       AND (r.eligible_cents NOT BETWEEN 0 AND r.amount_cents OR r.requested_eligible_cents <> r.eligible_cents
            OR (o.eligible_total_cents IS NULL AND (r.eligible_cents <> r.amount_cents OR r.requested_eligible_cents IS NOT NULL)))`,

  'a refund returns and takes back its share of the amounts that the order redeemed and earned': `
    SELECT r.id AS refund_id, r.order_id, r.amount_cents, r.eligible_cents, r.returned_cents, r.taken_back_cents,
           o.total_cents, o.eligible_total_cents, o.redeemed_cents, o.earned_cents
      FROM refunds r JOIN orders o ON o.id = r.order_id
     WHERE ${inPage('r.order_id')}
       AND (r.amount_cents <= 0 OR ABS(${RETURNED_ABOVE_SHARE}) >= o.total_cents
            OR (ABS(${TAKEN_BACK_ABOVE_SHARE}) >= GREATEST(${ELIGIBLE_TOTAL}, 1)
                AND NOT (${TAKEN_BACK_ABOVE_SHARE} < 0 AND ${HAS_EXPIRED_UNSPENT})))`,

  'the amounts of a refund are the sums of its entries, which have the same instant': `
    SELECT r.id AS refund_id, r.order_id, r.returned_cents, r.taken_back_cents, r.created_at,
           COALESCE(SUM(CASE WHEN e.kind = 'return' THEN e.amount_cents END), 0) AS return_entries,
           COALESCE(SUM(CASE WHEN e.kind = 'take_back' THEN -e.amount_cents WHEN e.kind IN ('debt', 'repay') THEN e.amount_cents END), 0) AS take_back_entries,
           MIN(e.created_at) AS first_entry_at, MAX(e.created_at) AS last_entry_at
      FROM refunds r LEFT JOIN cashback_entries e ON e.refund_id = r.id
     WHERE ${inPage('r.order_id')}
     GROUP BY r.id, r.order_id, r.returned_cents, r.taken_back_cents, r.created_at
    HAVING r.returned_cents <> COALESCE(SUM(CASE WHEN e.kind = 'return' THEN e.amount_cents END), 0)
        OR r.taken_back_cents <> COALESCE(SUM(CASE WHEN e.kind = 'take_back' THEN -e.amount_cents WHEN e.kind IN ('debt', 'repay') THEN e.amount_cents END), 0)
        OR MIN(e.created_at) < r.created_at - ${CLOCK_MARGIN} OR MAX(e.created_at) > r.created_at + ${CLOCK_MARGIN}`,
};
