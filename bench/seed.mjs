// @ts-check
/** @import { Lab } from './lab.mjs' */
import { escape } from 'mysql2';
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

/** Begins the ids of their wallets. */
export const WALLET_PREFIX = '01930000';

/** Rows of one statement: enough to be fast, few enough for a transaction that stays small. */
export const CHUNK = 50_000;

/**
 * Inserts a row for each whole number `n` below `count`.
 *
 * @param {Lab} lab @param {string} schema @param {string} table @param {number} count
 * @param {Record<string, string | number>} expressions by column
 * @param {string} [from] what else the query reads
 */
export async function insertNumbered(lab, schema, table, count, expressions, from = 'numbers') {
  for (let first = 0; first < count; first += CHUNK) {
    // A recursion of 1000 is what MySQL allows by default.
    const numbers = `
      WITH RECURSIVE k (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < 999),
           numbers (n) AS (SELECT a.n + 1000 * b.n + ${first} FROM k a CROSS JOIN k b WHERE a.n + 1000 * b.n < ${Math.min(CHUNK, count - first)})`;
    await lab.insertFrom(schema, table, expressions, from, numbers);
  }
}

/** An id of the form of a UUID v7 of long ago, so that what is created later comes after it, as in production. */
export const idOf = (/** @type {string} */ number, prefix = '0193f1c2') =>
  `CONCAT('${prefix}-7c1e-7000-8000-', LPAD(LOWER(HEX(${number})), 12, '0'))`;

/** The same id as a text. @param {number} number @param {string} prefix */
export const idText = (number, prefix) => `${prefix}-7c1e-7000-8000-${number.toString(16).padStart(12, '0')}`;

/**
 * Makes a schema with the service's tables, a merchant, an API user, and customers with credits.
 *
 * @param {Lab} lab @param {string} schema @param {number} [customers]
 */
export async function openShop(lab, schema, customers = CUSTOMERS) {
  await createSchema(lab, schema);
  const shop = { schema, ...(await addMerchant(lab, schema)) };
  await addWallets(lab, shop, {
    count: customers,
    firstDocument: FIRST_DOCUMENT,
    prefix: WALLET_PREFIX,
    creditsEach: 3,
  });
  return shop;
}

/** Makes a schema with the service's tables. @param {Lab} lab @param {string} schema */
export async function createSchema(lab, schema) {
  lab.say(`Seeding the schema ${schema}`);
  await lab.sql('mysql', `CREATE DATABASE IF NOT EXISTS \`${schema}\` CHARACTER SET utf8mb4`);
  await lab.command(schema, ['dist/src/migrate.js', 'run']);
}

/**
 * Wallets of customers one after the other, each with `creditsEach` credits of R$ 1000.00. They were or will be earned on
 * 180 days, one after the other: those of the last 30 days are pending, and each expires 160 days after it is available.
 *
 * @param {Lab} lab @param {Shop} shop
 * @param {object} wallets
 * @param {number} wallets.count
 * @param {number} wallets.firstDocument
 * @param {string} wallets.prefix begins the ids, and is another one for each call
 * @param {number} wallets.creditsEach
 * @param {Record<string, string | number>} [wallets.wallet] columns of the wallets that are different
 * @param {Record<string, string>} [wallets.credit] columns of the credits that are different
 */
export async function addWallets(lab, { schema, merchantId }, wallets) {
  const { count, firstDocument, prefix, creditsEach, wallet, credit } = wallets;
  const days = Array.from({ length: creditsEach }, (_, nth) => Math.floor((nth * 180) / creditsEach) - 149);
  const pending = days.filter((day) => day > 0);
  const merchant_id = escape(merchantId);
  await insertNumbered(lab, schema, 'wallets', count, {
    id: idOf('n', prefix),
    merchant_id,
    document: `${firstDocument} + n`,
    balance_cents: CREDIT * creditsEach,
    available_cents: CREDIT * (creditsEach - pending.length),
    pending_cents: CREDIT * pending.length,
    available_as_of: 'NOW(3)',
    available_until: `CURDATE() + INTERVAL ${Math.min(-149 + 160, ...pending.slice(0, 1))} DAY`,
    last_seq: creditsEach,
    created_at: 'NOW(3)',
    ...wallet,
  });
  const day = `CURDATE() + INTERVAL (n % ${creditsEach}) * 180 DIV ${creditsEach} - 149 DAY`;
  await insertNumbered(lab, schema, 'cashback_credits', count * creditsEach, {
    id: idOf('n', prefix),
    wallet_id: idOf(`n DIV ${creditsEach}`, prefix),
    merchant_id,
    seq: `n % ${creditsEach} + 1`,
    amount_cents: CREDIT,
    remaining_cents: CREDIT,
    is_open: 1,
    available_at: day,
    expires_at: `${day} + INTERVAL 160 DAY`,
    created_at: 'NOW(3)',
    ...credit,
  });
}

/** The time from the oldest of the orders that `addOrders` makes until now, however many they are. */
export const SPAN_SECONDS = 1_000_000;

/**
 * Orders of the past, many at once. Their external ids are in no order, as those of a merchant's systems are. One in five
 * is left unpaid. Only 4 are refunded, so that one filter matches few.
 *
 * @param {Lab} lab @param {Shop} shop @param {number} count
 * @returns {Promise<Date>} when the newest was created
 */
export async function addOrders(lab, { schema, merchantId, apiUserId }, count) {
  const newest = new Date();
  const [at, step] = [newest.toISOString().slice(0, -1), (SPAN_SECONDS / count) * 1_000_000];
  const created = `${escape(at)} - INTERVAL (${count - 1} - n) * ${step} MICROSECOND`;
  const items =
    '[{"id":"sku-1","priceCents":12990,"description":"Café em grãos, 1 kg"},{"id":"sku-2","priceCents":2010}]';
  const orders = {
    id: idOf('n'),
    merchant_id: 'm.id',
    external_id: 'LEFT(SHA2(n, 256), 32)',
    status: `CASE WHEN n % ${count / 4} = 0 THEN 'refunded' WHEN n % 20 = 3 THEN 'cancelled' WHEN n % 10 = 2 THEN 'partially_refunded'
                  WHEN n % 5 = 1 THEN 'pending' ELSE 'completed' END`,
    document: `50000000000 + n % ${CHUNK}`,
    total_cents: 15_000,
    items: escape(items),
    payment_methods: escape('[{"id":"credit_card","amountCents":15000}]'),
    policy: 'm.policy',
    version: 1,
    created_at: created,
    updated_at: created,
    expires_at: `${created} + INTERVAL 2 DAY`,
    created_by: escape(apiUserId),
  };
  lab.say(`${count} orders`);
  await insertNumbered(
    lab,
    schema,
    'orders',
    count,
    orders,
    `merchants m JOIN numbers WHERE m.id = ${escape(merchantId)}`,
  );
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
  const walletId = String(row?.['wallet_id']);
  await insertNumbered(lab, shop.schema, 'cashback_entries', count, {
    wallet_id: escape(walletId),
    merchant_id: escape(shop.merchantId),
    seq: 'n + 1',
    kind: "IF(n % 2 = 0, 'void', 'grant')",
    amount_cents: 'IF(n % 2 = 0, -100, 100)',
    balance_cents: CREDIT,
    credit_id: escape(String(row?.['id'])),
    effective_at: 'NOW(3)',
    created_at: 'NOW(3)',
    made_by: escape(shop.apiUserId),
  });
  return walletId;
}
