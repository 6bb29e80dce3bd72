/**
 * Returns a statement that adds up what remains of a merchant's credits `c`, by its first column. Of the spent credits
 * it reads only those that pending orders hold completely, so a group can have two rows.
 */
export const ofUnspent = (columns: string): string => `
  SELECT ${columns} FROM wallets w JOIN cashback_credits c ON c.wallet_id = w.id AND c.merchant_id = w.merchant_id AND c.is_open = 1
   WHERE w.merchant_id = :merchantId GROUP BY 1
  UNION ALL
  SELECT ${columns} FROM cashback_credits c
   WHERE c.merchant_id = :merchantId AND c.is_open = 0 AND c.id IN (
     SELECT h.credit_id FROM orders o JOIN cashback_holds h ON h.order_id = o.id AND h.merchant_id = o.merchant_id
      WHERE o.merchant_id = :merchantId AND o.status = 'pending')
   GROUP BY 1`;
