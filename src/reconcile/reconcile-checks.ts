/**
 * The invariants of the money as SQL: each query returns the rows for which one does not hold. `:ids` are
 * the wallets or orders of a page.
 */

/** Entries of a kind that move a credit, as opposed to the debt. */
const ON_CREDIT = 'e.credit_id IS NOT NULL';

export const WALLET_CHECKS: Record<string, string> = {
  'a credit has left what its entries add up to, between 0 and its amount': `
    SELECT c.id AS credit_id, c.remaining_cents, c.amount_cents, COALESCE(SUM(e.amount_cents), 0) AS entries_cents
      FROM cashback_credits c LEFT JOIN cashback_entries e ON e.credit_id = c.id
     WHERE c.wallet_id IN (:...ids)
     GROUP BY c.id, c.remaining_cents, c.amount_cents
    HAVING c.remaining_cents <> COALESCE(SUM(e.amount_cents), 0) OR c.remaining_cents < 0
        OR c.remaining_cents > c.amount_cents + SUM(CASE WHEN e.kind = 'restore' THEN e.amount_cents ELSE 0 END)`,
  'what is held is what hold and release add up to, for each order and credit': `
    SELECT x.order_id, x.credit_id, SUM(x.held_cents) AS held_cents, SUM(x.entries_cents) AS entries_cents
      FROM (SELECT h.order_id, h.credit_id, h.amount_cents AS held_cents, 0 AS entries_cents
              FROM cashback_holds h WHERE h.wallet_id IN (:...ids)
             UNION ALL
            SELECT e.order_id, e.credit_id, 0, e.amount_cents
              FROM cashback_entries e WHERE e.wallet_id IN (:...ids) AND e.kind IN ('hold', 'release')) x
     GROUP BY x.order_id, x.credit_id
    HAVING SUM(x.held_cents) <> -SUM(x.entries_cents)`,
  'the balance is what all credits have left': `
    SELECT w.id AS wallet_id, w.balance_cents, COALESCE(SUM(c.remaining_cents), 0) AS credits_cents
      FROM wallets w LEFT JOIN cashback_credits c ON c.wallet_id = w.id
     WHERE w.id IN (:...ids)
     GROUP BY w.id, w.balance_cents
    HAVING w.balance_cents <> COALESCE(SUM(c.remaining_cents), 0)`,
  'the statement is gapless, and its debt is the debt': `
    SELECT w.id AS wallet_id, w.last_seq, COUNT(e.seq) AS entries, w.debt_cents,
           COALESCE(SUM(CASE WHEN e.kind IN ('debt', 'repay') THEN e.amount_cents END), 0) AS entries_cents
      FROM wallets w LEFT JOIN cashback_entries e ON e.wallet_id = w.id
     WHERE w.id IN (:...ids)
     GROUP BY w.id, w.last_seq, w.debt_cents
    HAVING w.last_seq <> COUNT(e.seq) OR w.last_seq <> COALESCE(MAX(e.seq), 0) OR w.debt_cents < 0
        OR w.debt_cents <> COALESCE(SUM(CASE WHEN e.kind IN ('debt', 'repay') THEN e.amount_cents END), 0)`,
  'every entry carries the balance and the debt after it': `
    SELECT x.* FROM (
      SELECT e.wallet_id, e.seq, e.balance_cents, e.debt_cents,
             SUM(CASE WHEN ${ON_CREDIT} THEN e.amount_cents ELSE 0 END) OVER running AS balance_so_far,
             SUM(CASE WHEN ${ON_CREDIT} THEN 0 ELSE e.amount_cents END) OVER running AS debt_so_far
        FROM cashback_entries e WHERE e.wallet_id IN (:...ids)
      WINDOW running AS (PARTITION BY e.wallet_id ORDER BY e.seq)) x
     WHERE x.balance_cents <> x.balance_so_far OR x.debt_cents <> x.debt_so_far OR x.balance_so_far < 0 OR x.debt_so_far < 0`,
};

/** Sums of an order's entries by what they mean for it; a clawback that paid a debt is not the order's own. */
const ORDER_SUMS = `
  SELECT o.id AS order_id, o.status, o.total_cents, o.redemption_cents, o.earned_cents, o.refunded_cents, o.returned_cents, o.clawed_back_cents,
         COALESCE(SUM(CASE WHEN e.kind = 'redeem' THEN -e.amount_cents END), 0) AS redeem_entries,
         COALESCE(SUM(CASE WHEN e.kind = 'earn' THEN e.amount_cents END), 0) AS earn_entries,
         COALESCE(SUM(CASE WHEN e.kind = 'restore' THEN e.amount_cents END), 0) AS restore_entries,
         COALESCE(SUM(CASE WHEN e.kind = 'clawback' AND e.refund_id IS NOT NULL THEN -e.amount_cents
                           WHEN e.kind = 'debt' THEN e.amount_cents END), 0) AS clawback_entries
    FROM orders o LEFT JOIN cashback_entries e ON e.order_id = o.id
   WHERE o.id IN (:...ids)
   GROUP BY o.id, o.status, o.total_cents, o.redemption_cents, o.earned_cents, o.refunded_cents, o.returned_cents, o.clawed_back_cents`;

export const ORDER_CHECKS: Record<string, string> = {
  'an order redeemed, granted, returned and took back what its entries say': `
    SELECT s.* FROM (${ORDER_SUMS}) s
     WHERE s.redeem_entries <> (CASE WHEN s.status IN ('pending', 'cancelled') THEN 0 ELSE s.redemption_cents END)
        OR s.earn_entries <> s.earned_cents OR s.restore_entries <> s.returned_cents OR s.clawback_entries <> s.clawed_back_cents`,
  'a full refund brings both back to zero': `
    SELECT s.* FROM (${ORDER_SUMS}) s
     WHERE (s.status = 'refunded') <> (s.refunded_cents = s.total_cents)
        OR (s.status = 'refunded' AND (s.redeem_entries <> s.restore_entries OR s.earn_entries <> s.clawback_entries))`,
  'what was refunded is what its refunds add up to': `
    SELECT o.id AS order_id, o.refunded_cents, o.returned_cents, o.clawed_back_cents, SUM(r.amount_cents) AS refunds_cents
      FROM orders o LEFT JOIN refunds r ON r.order_id = o.id
     WHERE o.id IN (:...ids)
     GROUP BY o.id, o.refunded_cents, o.returned_cents, o.clawed_back_cents
    HAVING o.refunded_cents <> COALESCE(SUM(r.amount_cents), 0) OR o.returned_cents <> COALESCE(SUM(r.returned_cents), 0)
        OR o.clawed_back_cents <> COALESCE(SUM(r.clawed_back_cents), 0)`,
  'what an open order wants to redeem is held, and nothing is held for others': `
    SELECT o.id AS order_id, o.status, o.redemption_cents, COALESCE(SUM(h.amount_cents), 0) AS held_cents
      FROM orders o LEFT JOIN cashback_holds h ON h.order_id = o.id
     WHERE o.id IN (:...ids)
     GROUP BY o.id, o.status, o.redemption_cents, o.expires_at
    HAVING (o.status <> 'pending' AND COALESCE(SUM(h.amount_cents), 0) <> 0)
        OR (o.status = 'pending' AND o.expires_at > :now AND COALESCE(SUM(h.amount_cents), 0) <> o.redemption_cents)`,
};
