// @ts-check
/** @import { Lab } from './lab.mjs' */
import { addMerchant } from './logins.mjs';

/**
 * @typedef {object} Shop a schema with a merchant, its login and its customers
 * @property {string} schema
 * @property {string} merchantId
 * @property {string} apiUserId
 */

/** The centavos of each credit. */
export const CREDIT = 100_000;

/** The number of customers with cashback to spend; each has three credits. */
export const CUSTOMERS = 1000;

/** Documents of the customers: the first, and one more for each. */
export const FIRST_DOCUMENT = 10_000_000_000;

/** Whole numbers from 0; a recursion of 1000 is what MySQL allows by default. */
export const NUMBERS = `
  WITH RECURSIVE k (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < 999),
       numbers (n) AS (SELECT a.n + 1000 * b.n FROM k a CROSS JOIN k b)`;

/** Rows of one statement: enough to be fast, few enough for a transaction that stays small. */
export const CHUNK = 50_000;

/** An id of the form of a UUID v7 of long ago, so that what is created later comes after it, as in production. */
export const idOf = (/** @type {string} */ number, prefix = '0193f1c2') =>
  `CONCAT('${prefix}-7c1e-7000-8000-', LPAD(LOWER(HEX(${number})), 12, '0'))`;

/**
 * Makes a schema with the service's tables, a merchant, an API user, and customers with credits.
 *
 * @param {Lab} lab @param {string} schema
 */
export async function openShop(lab, schema) {
  lab.say(`Seeding the schema ${schema}`);
  await lab.sql('mysql', `CREATE DATABASE IF NOT EXISTS \`${schema}\` CHARACTER SET utf8mb4`);
  await lab.command(schema, ['dist/src/migrate.js', 'run']);
  const shop = { schema, ...(await addMerchant(lab, schema)) };
  await addWallets(lab, shop, { count: CUSTOMERS, firstDocument: FIRST_DOCUMENT, prefix: '01930000', creditsEach: 3 });
  return shop;
}

/**
 * Wallets of customers one after the other, each with `creditsEach` credits of R$ 1000.00. They were or will be earned on
 * 180 days, one after the other: those of the last 30 days are pending, and each expires 160 days after it is available.
 *
 * @param {Lab} lab @param {Shop} shop
 * @param {{ count: number, firstDocument: number, prefix: string, creditsEach: number }} wallets
 *   `prefix` begins the ids, and is another one for each call
 */
export async function addWallets(lab, shop, { count, firstDocument, prefix, creditsEach }) {
  await lab.sql(
    shop.schema,
    `INSERT INTO wallets (id, merchant_id, document, debt_cents, balance_cents, available_cents, available_as_of, available_until, last_seq, created_at) ${NUMBERS}
     SELECT ${idOf('n', prefix)}, ?, ? + n, 0, ?, ?, NOW(3), NOW(3), 0, NOW(3) FROM numbers WHERE n < ?`,
    [shop.merchantId, firstDocument, CREDIT * creditsEach, 0, count],
  );
  for (let first = 0; first < count * creditsEach; first += CHUNK)
    await lab.sql(
      shop.schema,
      `INSERT INTO cashback_credits (id, wallet_id, merchant_id, order_id, reason, amount_cents, remaining_cents, available_at, expires_at, created_at) ${NUMBERS},
            made (nth, day) AS (SELECT n + ?, CURDATE() + INTERVAL ((n + ?) % ?) * 180 DIV ? - 149 DAY FROM numbers WHERE n < ?)
       SELECT ${idOf('nth', prefix)}, ${idOf('nth DIV ?', prefix)}, ?, NULL, NULL, ?, ?, day, day + INTERVAL 160 DAY, NOW(3) FROM made`,
      [
        ...[first, first, creditsEach, creditsEach, Math.min(CHUNK, count * creditsEach - first)],
        ...[creditsEach, shop.merchantId, CREDIT, CREDIT],
      ],
    );
  // As the service leaves a wallet after each change.
  await lab.sql(
    shop.schema,
    `UPDATE wallets w
        SET available_cents = (SELECT SUM(c.remaining_cents) FROM cashback_credits c WHERE c.wallet_id = w.id AND c.available_at <= w.available_as_of),
            available_until = LEAST((SELECT MIN(c.expires_at) FROM cashback_credits c WHERE c.wallet_id = w.id),
                                    COALESCE((SELECT MIN(c.available_at) FROM cashback_credits c WHERE c.wallet_id = w.id AND c.available_at > w.available_as_of), '9999-12-31 23:59:59.999'))
      WHERE available_until = available_as_of`,
  );
}

/** The time from the oldest of the orders that `addOrders` makes until now, however many they are. */
export const SPAN_SECONDS = 1_000_000;

/** One order in five is left unpaid. Only 4 are refunded, so that one filter matches few. */
const STATUS = `CASE WHEN nth % ? = 0 THEN 'refunded' WHEN n % 20 = 3 THEN 'cancelled' WHEN n % 10 = 2 THEN 'partially_refunded'
                     WHEN n % 5 = 1 THEN 'pending' ELSE 'completed' END`;

/**
 * Orders of the past, many at once. Their external ids are in no order, as those of a merchant's systems are.
 *
 * @param {Lab} lab @param {Shop} shop @param {number} count
 * @returns {Promise<Date>} when the newest was created
 */
export async function addOrders(lab, shop, count) {
  const items =
    '[{"id":"sku-1","priceCents":12990,"description":"Café em grãos, 1 kg"},{"id":"sku-2","priceCents":2010}]';
  const methods = '[{"id":"credit_card","amountCents":15000}]';
  const newest = new Date();
  const [at, step] = [newest.toISOString().slice(0, -1), (SPAN_SECONDS / count) * 1_000_000];
  for (let first = 0; first < count; first += CHUNK) {
    const chunk = Math.min(CHUNK, count - first);
    await lab.sql(
      shop.schema,
      `INSERT INTO orders (id, merchant_id, external_id, status, document, total_cents, items, payment_methods, policy, redemption_cents,
                           lapsed_cents, earned_cents, refunded_cents, refunded_eligible_cents, returned_cents, taken_back_cents, content_digest, version,
                           created_at, updated_at, expires_at) ${NUMBERS},
            made (n, nth, created) AS (SELECT n, n + ?, ? - INTERVAL (? - n) * ? MICROSECOND FROM numbers WHERE n < ?)
       SELECT ${idOf('nth')}, m.id, LEFT(SHA2(nth, 256), 32), ${STATUS}, 50000000000 + n, 15000, ?, ?, m.policy, 0, 0, 0, 0, 0, 0, 0, '', 1,
              created, created, created + INTERVAL 2 DAY
         FROM merchants m JOIN made WHERE m.id = ?`,
      [first, at, count - first - 1, step, chunk, count / 4, items, methods, shop.merchantId],
    );
    if (count >= 10 * CHUNK && (first / CHUNK) % 5 === 4) lab.say(`${first + chunk} orders`);
  }
  return newest;
}

/**
 * A wallet whose statement is long.
 *
 * @param {Lab} lab @param {Shop} shop
 * @param {number} count of entries
 * @returns {Promise<string>} the wallet's id
 */
export async function addEntries(lab, shop, count) {
  await addWallets(lab, shop, { count: 1, firstDocument: 30_000_000_000, prefix: '01932000', creditsEach: 1 });
  const [row] = await lab.sql(
    shop.schema,
    'SELECT c.id, c.wallet_id FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id WHERE w.document = ?',
    ['30000000000'],
  );
  for (let first = 0; first < count; first += CHUNK)
    await lab.sql(
      shop.schema,
      `INSERT INTO cashback_entries (wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, effective_at, created_at) ${NUMBERS}
       SELECT ?, ?, n + ? + 1, IF(n % 2 = 0, 'hold', 'release'), IF(n % 2 = 0, -100, 100), 100000, 0, ?, NOW(3), NOW(3) FROM numbers WHERE n < ?`,
      [row?.['wallet_id'], shop.merchantId, first, row?.['id'], Math.min(CHUNK, count - first)],
    );
  return String(row?.['wallet_id']);
}
