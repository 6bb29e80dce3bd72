/**
 * SQL expressions for the sums of a wallet `w`, which the query finds by a unique key. The wallet stores its sums at
 * the last write, so the expressions only read the credits whose dates have passed since.
 */

/** What remains of a credit and is not held. */
export const FREE = '(remaining_cents - held_cents)';

const passed = (credits: string, dates: string): string =>
  `COALESCE((SELECT SUM${FREE} FROM cashback_credits ${credits}
              WHERE ${credits}.wallet_id = w.id AND ${credits}.merchant_id = w.merchant_id AND is_open = 1 AND ${dates}), 0)`;

const RELEASED = 'available_at > w.available_as_of AND available_at <= ?';

/** Centavos that a customer can spend. */
export const AVAILABLE = `(
  w.available_cents
  + ${passed('released', `${RELEASED} AND expires_at > ?`)}
  - ${passed('expired', 'expires_at > w.available_as_of AND expires_at <= ? AND available_at <= w.available_as_of')})`;

export const availableParameters = (now: Date): Date[] => [now, now, now];

/** Centavos that are not available yet. The parameter is the current instant. */
export const PENDING = `(w.pending_cents - ${passed('released', RELEASED)})`;

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

/** When a date first changes the sums of a wallet after an instant. It reads one row of each index. */
export const NEXT_CHANGE = `LEAST(${firstAfter('available_at')}, ${firstAfter('expires_at')})`;

export const nextChangeParameters = (walletId: string, merchantId: string, now: Date): (string | Date)[] => [
  ...[walletId, merchantId, now],
  ...[walletId, merchantId, now],
];
