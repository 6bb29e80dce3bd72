/**
 * Returns a statement that adds up what remains of a merchant's credits `c`, by its first column. Of the spent credits
 * it reads only those that pending orders hold completely, so a group can have two rows.
 *
 * @param isOfWallet whether it reads only the credits of one wallet, which has the customer's `document`.
 */
export const ofUnspent = (columns: string, isOfWallet = false): string => {
  const onlyOf = (column: string): string => (isOfWallet ? `AND ${column}` : '');
  return `
  SELECT ${columns} FROM wallets w JOIN cashback_credits c ON c.wallet_id = w.id AND c.merchant_id = w.merchant_id AND c.is_open = 1
   WHERE w.merchant_id = :merchantId ${onlyOf('w.id = :id')} GROUP BY 1
  UNION ALL
  SELECT ${columns} FROM cashback_credits c
   WHERE c.merchant_id = :merchantId ${onlyOf('c.wallet_id = :id')} AND c.is_open = 0 AND c.id IN (
     SELECT h.credit_id FROM orders o JOIN cashback_holds h ON h.order_id = o.id AND h.merchant_id = o.merchant_id
      WHERE o.merchant_id = :merchantId ${onlyOf('o.document = :document')} AND o.status = 'pending')
   GROUP BY 1`;
};
