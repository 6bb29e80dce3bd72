// @ts-check

/** The statements of an order's creation, as the service sends them: what no framework can save. */

export const LIVE_TOKEN = `
  SELECT t.jwt, u.merchant_id
    FROM token_sets t JOIN sessions s ON s.id = t.session_id JOIN api_users u ON u.id = s.api_user_id
   WHERE t.access_hash = ? AND t.access_expires_at > ? AND s.expires_at > ? AND s.revoked_at IS NULL AND u.disabled_at IS NULL`;

/** Read once a second for each merchant. */
export const POLICY = 'SELECT policy FROM merchants WHERE id = ?';

export const INSERT_ORDER = `
  INSERT INTO orders (id, merchant_id, external_id, status, document, total_cents, items, payment_methods, final_payment_methods,
                      policy, redemption_cents, earned_cents, refunded_cents, returned_cents, clawed_back_cents, created_at,
                      expires_at, completed_at, cancelled_at)
  VALUES (?, ?, ?, 'pending', ?, ?, ?, ?, NULL, ?, 0, 0, 0, 0, 0, ?, ?, NULL, NULL)`;

export const AVAILABLE = `
  SELECT w.document AS of_document, SUM(c.remaining_cents) AS sum_cents, NULL AS lapsed_order_id, NULL AS lapsed_at,
         NULL AS credit_id, NULL AS credit_cents, NULL AS credit_from, NULL AS credit_until
    FROM wallets w JOIN cashback_credits c ON c.wallet_id = w.id
   WHERE w.merchant_id = ? AND w.document IN (?) AND c.is_open = 1 AND c.expires_at > ? AND c.available_at <= ?
   GROUP BY w.document
   UNION ALL
  SELECT w.document, h.amount_cents, h.order_id, h.expires_at, c.id, c.remaining_cents, c.available_at, c.expires_at
    FROM wallets w JOIN cashback_holds h ON h.wallet_id = w.id AND h.expires_at <= ? JOIN cashback_credits c ON c.id = h.credit_id
   WHERE w.merchant_id = ? AND w.document IN (?)`;
