// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Shop } from '../seed.mjs' */
import { escape } from 'mysql2';
import { createSchema, idOf, idText, insertNumbered } from '../seed.mjs';
import { addMerchant } from '../logins.mjs';

/**
 * @typedef {Shop & { count: number, days: { first: string, busy: string, today: string } }} LargeShop with the number of
 *   its orders, and its first day, the day of one order in ten, and today
 */

/** In the merchant's time zone, in which a day begins at three o'clock in UTC. */
const ZONE_HOURS = 3;
const DAYS = 365;
const [STORES, USERS, REASONS] = [50, 100, 20];

/** Each customer has ten orders; one in ten customers also has a grant. */
const ORDERS_EACH = 10;
const [TOTAL, EARNED, GRANTED] = [15_000, 750, 500];

export const LARGE_EMAIL = 'large@example.com';
const FIRST_DOCUMENT = 20_000_000_000;
const [WALLETS, CREDITS, GRANTS, REFUNDS, STAFF] = /** @type {const} */ ([
  ...['01936000', '01936001', '01936002', '01936003', '01936004'],
]);

const dayOf = (/** @type {Date} */ at) => new Date(at.getTime() - ZONE_HOURS * 3_600_000).toISOString().slice(0, 10);
export const addDays = (/** @type {string} */ day, /** @type {number} */ more) =>
  new Date(Date.parse(day) + more * 86_400_000).toISOString().slice(0, 10);

/**
 * Makes a schema with a merchant that is large: as many orders and as many credits. Nine in ten were sold evenly in a
 * year, and the others yesterday. One order in a hundred was refunded in part.
 *
 * @param {Lab} lab @param {string} schema @param {number} count of its orders
 * @returns {Promise<LargeShop>}
 */
export async function openLargeShop(lab, schema, count) {
  await createSchema(lab, schema);
  // Most of it is read again and again; the rest of a machine of production has that much, too.
  await lab.sql('mysql', `SET GLOBAL innodb_buffer_pool_size = ${4 * 2 ** 30}`);
  const shop = { schema, ...(await addMerchant(lab, schema, LARGE_EMAIL)) };
  const today = dayOf(new Date());
  const days = { first: addDays(today, -DAYS - 1), busy: addDays(today, -1), today };
  const large = { ...shop, count, days };
  for (const [table, rows, expressions, from] of tablesOf(large)) {
    lab.say(`${rows} rows of ${table}`);
    await insertNumbered(lab, schema, table, rows, expressions, from);
  }
  const began = `${escape(days.first)} + INTERVAL ${ZONE_HOURS} HOUR`;
  await lab.sql(schema, `UPDATE merchants SET created_at = ${began} WHERE id = ?`, [shop.merchantId]);
  await lab.sql(schema, `UPDATE sum_positions SET summed_until = ${began}, due_at = ${began} WHERE merchant_id = ?`, [
    shop.merchantId,
  ]);
  await lab.sql(schema, 'ANALYZE TABLE orders, wallets, cashback_credits, cashback_entries, cashback_grants, refunds');
  return large;
}

/** When order `n` was sold, as SQL. @param {LargeShop} shop @param {string} [n] */
function soldAt({ count, days }, n = 'n') {
  const early = (count * 9) / 10;
  const of = (/** @type {string} */ day, /** @type {string} */ nth, /** @type {number} */ step) =>
    `${escape(day)} + INTERVAL ${ZONE_HOURS} HOUR + INTERVAL FLOOR(${nth} * ${step}) * 1000 MICROSECOND`;
  const [step, busyStep] = [(DAYS * 86_400_000) / early, 86_400_000 / (count - early)];
  return `IF(${n} < ${early}, ${of(days.first, n, step)}, ${of(days.busy, `(${n} - ${early})`, busyStep)})`;
}

/** The ID of order `n`, as a text. @param {number} n */
export const orderId = (n) => idText(n, '0193f1c2');

/** The ID of user `n`, as a text. @param {number} n */
export const userId = (n) => idText(n, STAFF);

/**
 * What the tables have in common.
 *
 * @param {LargeShop} shop
 */
function partsOf(shop) {
  const customers = shop.count / ORDERS_EACH;
  const at = soldAt(shop);
  const merchant_id = escape(shop.merchantId);
  const user = idOf(`n % ${USERS}`, STAFF);
  const store = `CONCAT('SP-', LPAD(n % ${STORES}, 3, '0'))`;
  const ofOrder = {
    ...{ merchant_id, wallet_id: idOf(`(n % ${customers})`, WALLETS), seq: `n DIV ${customers} + 1`, store },
    ...{ order_id: idOf('n'), amount_cents: EARNED, created_at: at },
  };
  const ofGrant = {
    ...{ merchant_id, wallet_id: idOf('n', WALLETS), seq: ORDERS_EACH + 1, store, amount_cents: GRANTED },
    created_at: soldAt(shop, '(n * 90)'),
  };
  return { customers, at, merchant_id, user, store, ofOrder, ofGrant };
}

/**
 * @param {LargeShop} shop
 * @returns {[table: string, rows: number, expressions: Record<string, string | number>, from?: string][]}
 */
function tablesOf(shop) {
  const { count } = shop;
  const { customers, merchant_id, user } = partsOf(shop);
  const { credits, entries } = earnedOf(shop);
  const granted = grantedOf(shop);
  const grants = customers / 10;
  const refunds = {
    ...{ id: idOf('n', REFUNDS), order_id: idOf('(100 * n + 7)'), merchant_id, external_id: escape('DEV-1') },
    ...{ version: 2, amount_cents: 100, eligible_cents: 100, created_by: user },
    created_at: soldAt(shop, '(100 * n + 7)'),
  };
  return [
    ['wallets', customers, walletsOf(shop)],
    ['orders', count, ordersOf(shop), `merchants m JOIN numbers WHERE m.id = ${merchant_id}`],
    ['cashback_credits', count, credits],
    ['cashback_entries', count, entries],
    ['cashback_credits', grants, granted.credits],
    ['cashback_grants', grants, granted.grants],
    ['cashback_entries', grants, granted.entries],
    ['refunds', count / 100, refunds],
  ];
}

/** @param {LargeShop} shop */
function walletsOf(shop) {
  const { customers, at, merchant_id } = partsOf(shop);
  const isGranted = `(n < ${customers / 10})`;
  const balance = `${ORDERS_EACH * EARNED} + ${isGranted} * ${GRANTED}`;
  return {
    ...{ id: idOf('n', WALLETS), merchant_id, document: `${FIRST_DOCUMENT} + n`, created_at: at },
    ...{ balance_cents: balance, available_cents: balance, last_seq: `${ORDERS_EACH} + ${isGranted}` },
    ...{ available_as_of: 'NOW(3)', available_until: validUntil(at) },
  };
}

/** @param {LargeShop} shop */
function earnedOf(shop) {
  const { customers, at, user, ofOrder } = partsOf(shop);
  const id = idOf('n', CREDITS);
  return {
    credits: { ...ofOrder, id, ...openCredit(EARNED, at) },
    entries: {
      ...{ ...ofOrder, kind: escape('earn'), credit_id: id, effective_at: at, made_by: user },
      balance_cents: `(n DIV ${customers} + 1) * ${EARNED}`,
    },
  };
}

/** @param {LargeShop} shop */
function grantedOf(shop) {
  const { merchant_id, user, ofGrant } = partsOf(shop);
  const [id, at] = [idOf('n', GRANTS), ofGrant.created_at];
  return {
    credits: { ...ofGrant, id, ...openCredit(GRANTED, at), reason: `CONCAT('Motivo ', n % ${REASONS})` },
    grants: { credit_id: id, merchant_id, created_by: user, external_id: "CONCAT('G-', n)" },
    entries: {
      ...{ ...ofGrant, kind: escape('grant'), credit_id: id, effective_at: at, made_by: user },
      balance_cents: ORDERS_EACH * EARNED + GRANTED,
    },
  };
}

const validUntil = (/** @type {string} */ at) => `${at} + INTERVAL 500 DAY`;

const openCredit = (/** @type {number} */ cents, /** @type {string} */ at) => ({
  ...{ remaining_cents: cents, is_open: 1, available_at: at, expires_at: validUntil(at) },
});

/** @param {LargeShop} shop @returns {Record<string, string | number>} */
function ordersOf(shop) {
  const { customers, at, merchant_id, user, store } = partsOf(shop);
  const items = '[{"id":"sku-1","priceCents":12990,"description":"Café em grãos"},{"id":"sku-2","priceCents":2010}]';
  return {
    ...{ id: idOf('n'), merchant_id, external_id: "CONCAT('PED-', LPAD(n, 10, '0'))", store, total_cents: TOTAL },
    ...{
      status: "IF(n % 100 = 7, 'partially_refunded', 'completed')",
      document: `${FIRST_DOCUMENT} + n % ${customers}`,
    },
    ...{
      items: escape(items),
      payment_methods: escape('[{"id":"credit_card","amountCents":15000}]'),
      policy: 'm.policy',
    },
    ...{ earned_cents: EARNED, kept_cents: EARNED, refunded_cents: 'IF(n % 100 = 7, 100, 0)', version: 2 },
    ...{ completed_version: 1, completed_at: at, completed_by: user, created_by: user, created_at: at, updated_at: at },
    ...{ expires_at: `${at} + INTERVAL 1 DAY`, cashback_available_at: at, cashback_expires_at: validUntil(at) },
  };
}
