/**
 * SQL expressions for the available balance of a wallet `w`, which the query finds by a unique key. The wallet stores
 * its balance at the last write, so the expressions only read the credits and holds whose dates have passed since.
 */

/** Centavos of credits that are available by their dates, before lapsed holds are released. */
export const AVAILABLE_BY_DATE = `(
  w.available_cents
  + COALESCE((SELECT SUM(released.remaining_cents) FROM cashback_credits released
               WHERE released.wallet_id = w.id AND released.merchant_id = w.merchant_id AND released.is_open = 1
                 AND released.available_at > w.available_as_of AND released.available_at <= ? AND released.expires_at > ?), 0)
  - COALESCE((SELECT SUM(expired.remaining_cents) FROM cashback_credits expired
               WHERE expired.wallet_id = w.id AND expired.merchant_id = w.merchant_id AND expired.is_open = 1
                 AND expired.expires_at > w.available_as_of AND expired.expires_at <= ? AND expired.available_at <= w.available_as_of), 0))`;

/** The parameters of AVAILABLE_BY_DATE. */
export const availableByDateParameters = (now: Date): Date[] => [now, now, now];

/**
 * Until when a reinstated credit `c` is available: the first hold that lapses after the credit has
 * expired decides.
 */
export const REINSTATED_UNTIL = `(
  SELECT late.reinstated_until FROM cashback_holds late
   WHERE late.credit_id = c.id AND late.merchant_id = c.merchant_id AND late.expires_at >= c.expires_at
   ORDER BY late.expires_at, late.order_id LIMIT 1)`;

/**
 * The lapsed holds `h` whose amounts are available again on credits `c`, before the wallet is next written.
 * `movements.ts` has the rule.
 */
export const LAPSED_HOLDS = `
  FROM cashback_holds h JOIN cashback_credits c ON c.id = h.credit_id AND c.merchant_id = h.merchant_id
 WHERE h.wallet_id = w.id AND h.merchant_id = w.merchant_id AND h.expires_at <= ?
   AND (c.expires_at > ?
        OR (c.original_expires_at IS NULL AND c.expires_at <= h.expires_at AND ${REINSTATED_UNTIL} > ?))`;

/** The parameters of LAPSED_HOLDS. */
export const lapsedHoldsParameters = (now: Date): Date[] => [now, now, now];

/** Centavos that a customer can spend. */
export const AVAILABLE = `(${AVAILABLE_BY_DATE} + COALESCE((SELECT SUM(h.amount_cents) ${LAPSED_HOLDS}), 0))`;

/** The parameters of AVAILABLE. */
export const availableParameters = (now: Date): Date[] => [
  ...availableByDateParameters(now),
  ...lapsedHoldsParameters(now),
];

/**
 * Centavos that a customer can spend if no date has changed them since the wallet was last written, else NULL. The
 * parameter is the current instant. AVAILABLE takes the database ten times as long, most of it to plan the statement.
 */
export const UNCHANGED_AVAILABLE = 'IF(w.available_until > ?, w.available_cents, NULL)';

/** The date of a change that never comes. */
export const NEVER = new Date('9999-12-31T23:59:59.999Z');
export const NEVER_SQL = "TIMESTAMP'9999-12-31 23:59:59.999'";

const OPEN_CREDITS = 'cashback_credits WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1';

const earliest = (date: string, from: string): string => `COALESCE((SELECT MIN(${date}) FROM ${from}), ${NEVER_SQL})`;

/**
 * When a date first changes what can be spent of a wallet after an instant, if every hold that had lapsed by then is
 * released. The database reads one row of each index.
 */
export const NEXT_CHANGE = `LEAST(
  ${earliest('available_at', `${OPEN_CREDITS} AND available_at > ?`)},
  ${earliest('expires_at', `${OPEN_CREDITS} AND expires_at > ?`)},
  ${earliest('expires_at', 'cashback_holds WHERE wallet_id = ? AND merchant_id = ?')})`;

/** The parameters of NEXT_CHANGE. */
export const nextChangeParameters = (walletId: string, merchantId: string, now: Date): (string | Date)[] => [
  ...[walletId, merchantId, now],
  ...[walletId, merchantId, now],
  ...[walletId, merchantId],
];

/** Centavos that an order `o` holds. The parameter is the current instant. */
export const HELD = `COALESCE(
  (SELECT SUM(held.amount_cents) FROM cashback_holds held
    WHERE held.order_id = o.id AND held.merchant_id = o.merchant_id AND held.expires_at > ?), 0)`;
