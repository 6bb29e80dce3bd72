/**
 * An edit of one row with direct access to the database: a title and the statement, with IDs of the scenes in braces.
 */
export type Edit = [title: string, sql: string];

export const order = (scene: string, change: string): string =>
  `UPDATE orders SET ${change} WHERE id = {${scene}.order}`;
export const wallet = (scene: string, change: string): string =>
  `UPDATE wallets SET ${change} WHERE id = {${scene}.wallet}`;
/** Changes the credit that the order of the scene earned. */
export const earned = (scene: string, change: string): string =>
  `UPDATE cashback_credits SET ${change} WHERE order_id = {${scene}.order}`;
/** Changes the first credit that was granted to the customer of the scene. */
export const granted = (scene: string, change: string): string =>
  `UPDATE cashback_credits SET ${change} WHERE wallet_id = {${scene}.wallet} AND order_id IS NULL ORDER BY id LIMIT 1`;
/** Changes the first credit that a refund made for the customer of the scene. */
export const returned = (scene: string, change: string): string =>
  `UPDATE cashback_credits SET ${change} WHERE wallet_id = {${scene}.wallet} AND refund_id IS NOT NULL ORDER BY id LIMIT 1`;
/** Changes the credit that returned for a second time. */
export const again = (change: string): string =>
  `UPDATE cashback_credits SET ${change} WHERE refund_id = {again.refund1}`;
export const grantOf = (scene: string): string =>
  `SELECT c.id FROM cashback_credits c JOIN cashback_grants g ON g.credit_id = c.id WHERE c.wallet_id = {${scene}.wallet}`;
export const returnedOf = (scene: string): string =>
  `SELECT c.id FROM cashback_credits c WHERE c.wallet_id = {${scene}.wallet} AND c.refund_id IS NOT NULL ORDER BY c.id`;
/** Changes the first grant of the customer of the scene. */
export const namedGrant = (scene: string, change: string): string =>
  `UPDATE cashback_grants SET ${change} WHERE credit_id IN (SELECT id FROM cashback_credits WHERE wallet_id = {${scene}.wallet}) ORDER BY credit_id LIMIT 1`;
export const entry = (scene: string, kind: string, change: string): string =>
  `UPDATE cashback_entries SET ${change} WHERE wallet_id = {${scene}.wallet} AND kind = '${kind}' ORDER BY seq LIMIT 1`;
export const hold = (scene: string, change: string): string =>
  `UPDATE cashback_holds SET ${change} WHERE order_id = {${scene}.order} LIMIT 1`;
/** Changes the credit that the first customer had for an order whose customer was corrected. */
export const movedAway = (change: string): string =>
  `UPDATE cashback_credits SET ${change} WHERE moved_order_id = {moved.order}`;
export const correction = (scene: string, change: string): string =>
  `UPDATE customer_changes SET ${change} WHERE order_id = {${scene}.order}`;
export const refund = (scene: string, change: string): string =>
  `UPDATE refunds SET ${change} WHERE id = {${scene}.refund1}`;
/** Changes the refund that was undone. */
export const undone = (change: string): string => `UPDATE refunds SET ${change} WHERE id = {undone.refund2}`;
/** Changes the debit of the customer of the scene. */
export const debit = (scene: string, change: string): string =>
  `UPDATE debits SET ${change} WHERE wallet_id = {${scene}.wallet}`;

export const MINUTES = 'INTERVAL 3 MINUTE';
export const UNKNOWN = "'00000000-0000-7000-8000-000000000000'";
export const OTHER_CREDIT =
  '(SELECT id FROM (SELECT id FROM cashback_credits WHERE order_id = {redeemed.order}) AS other)';
export const ENTRY_COLUMNS =
  'wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, order_id, refund_id, effective_at, created_at, made_by, store';
