/**
 * SQL expressions for the available balance of a wallet `w`, which the query finds by a unique key. The wallet stores
 * its balance at the last write, so the expressions only read the credits whose dates have passed since.
 */

/** Centavos that a customer can spend. */
export const AVAILABLE = `(
  w.available_cents
  + COALESCE((SELECT SUM(released.remaining_cents) FROM cashback_credits released
               WHERE released.wallet_id = w.id AND released.merchant_id = w.merchant_id AND released.is_open = 1
                 AND released.available_at > w.available_as_of AND released.available_at <= ? AND released.expires_at > ?), 0)
  - COALESCE((SELECT SUM(expired.remaining_cents) FROM cashback_credits expired
               WHERE expired.wallet_id = w.id AND expired.merchant_id = w.merchant_id AND expired.is_open = 1
                 AND expired.expires_at > w.available_as_of AND expired.expires_at <= ? AND expired.available_at <= w.available_as_of), 0))`;

export const availableParameters = (now: Date): Date[] => [now, now, now];

/**
 * Centavos that a customer can spend if no date has changed them since the wallet was last written, else NULL. The
 * parameter is the current instant. AVAILABLE takes the database ten times as long, most of it to plan the statement.
 */
export const UNCHANGED_AVAILABLE = 'IF(w.available_until > ?, w.available_cents, NULL)';

/** The date of a change that never comes. */
export const NEVER = new Date('9999-12-31T23:59:59.999Z');
export const NEVER_SQL = "TIMESTAMP'9999-12-31 23:59:59.999'";

const firstAfter = (date: string): string =>
  `COALESCE((SELECT MIN(${date}) FROM cashback_credits
              WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND ${date} > ?), ${NEVER_SQL})`;

/** When a date first changes what can be spent of a wallet after an instant. It reads one row of each index. */
export const NEXT_CHANGE = `LEAST(${firstAfter('available_at')}, ${firstAfter('expires_at')})`;

export const nextChangeParameters = (walletId: string, merchantId: string, now: Date): (string | Date)[] => [
  ...[walletId, merchantId, now],
  ...[walletId, merchantId, now],
];
