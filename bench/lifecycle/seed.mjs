// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Shop } from '../seed.mjs' */
import { escape } from 'mysql2';
import { columnsOf } from '../columns.mjs';
import { earnedCents, later, validityOf } from '../floor/answers.mjs';
import { addWallets, createSchema, FIRST_DOCUMENT, idOf, idText, insertNumbered, WALLET_PREFIX } from '../seed.mjs';

/**
 * @typedef {object} Model an order that the service created, of which the seeded ones are copies
 * @property {string} id
 * @property {Date} at when they were created
 * @property {number} earnedCents what each earns
 * @property {{ availableAt: Date, expiresAt: Date }} validity when that can be spent
 *
 * @typedef {Shop & { model: Model, seeded: number }} LifecycleShop with the number of seeded orders
 */

export const LIFECYCLE_CUSTOMERS = 2000;
const HOT_DOCUMENT = 70_000_000_000;
const [ORDER_PREFIX, CREDIT_PREFIX, HOT_PREFIX] = /** @type {const} */ (['0193f1c3', '01931000', '01935000']);

/** What both servers find, in an order that the foreign keys allow. */
const COPIED = ['merchants', 'api_users', 'sessions', 'token_sets', 'wallets', 'cashback_credits', 'orders'];

const toSql = (/** @type {Date} */ at) => escape(at.toISOString().slice(0, -1));

/** @param {Lab} lab @param {string} schema @param {string} table @param {string} from what has the columns */
async function copiesOf(lab, schema, table, from) {
  const columns = await columnsOf((sql, values) => lab.sql(schema, sql, values), table);
  return Object.fromEntries(columns.map(([name]) => [name, `${from}.${name}`]));
}

/**
 * Adds the wallet of one more customer, and finds out what a copy of an order earns.
 *
 * @param {Lab} lab @param {Shop} shop
 * @param {string} id of the order
 * @returns {Promise<LifecycleShop>}
 */
export async function withModel(lab, shop, id) {
  await addWallets(lab, shop, { count: 1, firstDocument: HOT_DOCUMENT, prefix: HOT_PREFIX, creditsEach: 3 });
  const [row] = await lab.sql(shop.schema, 'SELECT policy, total_cents FROM orders WHERE id = ?', [id]);
  const policy = typeof row?.['policy'] === 'string' ? JSON.parse(row['policy']) : row?.['policy'];
  const at = new Date();
  const earned = earnedCents(policy, Number(row?.['total_cents']));
  return { ...shop, model: { id, at, earnedCents: earned, validity: validityOf(policy, at) }, seeded: 0 };
}

/**
 * Copies a shop to a new schema, with the sessions of its API user.
 *
 * @param {Lab} lab @param {LifecycleShop} shop @param {string} schema
 * @returns {Promise<LifecycleShop>}
 */
export async function copyShop(lab, shop, schema) {
  await createSchema(lab, schema);
  for (const table of COPIED)
    await lab.insertFrom(schema, table, await copiesOf(lab, schema, table, 'o'), `${shop.schema}.${table} o`);
  return { ...shop, schema };
}

/** The number of orders that gives each customer equally many. @param {number} least */
const forAll = (least) => Math.ceil(least / LIFECYCLE_CUSTOMERS) * LIFECYCLE_CUSTOMERS;

/**
 * Inserts copies of the model.
 *
 * @param {Lab} lab @param {LifecycleShop} shop @param {number} count
 * @param {Record<string, string | number>} different columns
 * @returns {Promise<{ ids: string[], id: string, creditId: string }>} their ids, and as SQL, those of `n` and its credit
 */
async function addCopies(lab, shop, count, different) {
  const { schema, model, seeded: first } = shop;
  shop.seeded += count;
  const number = `(n + ${first})`;
  const id = idOf(number, ORDER_PREFIX);
  const order = {
    ...(await copiesOf(lab, schema, 'orders', 'm')),
    id,
    external_id: `CONCAT('PED-seeded-', ${number})`,
    document: `${FIRST_DOCUMENT} + n % ${LIFECYCLE_CUSTOMERS}`,
    created_at: toSql(model.at),
    updated_at: toSql(model.at),
    expires_at: toSql(later(model.at, 86_400_000)),
    ...different,
  };
  await insertNumbered(lab, schema, 'orders', count, order, `orders m JOIN numbers WHERE m.id = ${escape(model.id)}`);
  const ids = Array.from({ length: count }, (_, n) => idText(n + first, ORDER_PREFIX));
  return { ids, id, creditId: idOf(number, CREDIT_PREFIX) };
}

/**
 * Pending orders, of one customer after the other.
 *
 * @param {Lab} lab @param {LifecycleShop} shop
 * @param {number} least how many
 * @returns {Promise<string[]>} their ids
 */
export async function addPending(lab, shop, least) {
  return (await addCopies(lab, shop, forAll(least), {})).ids;
}

/** Pending orders of one customer. @param {Lab} lab @param {LifecycleShop} shop @param {number} count */
export async function addHot(lab, shop, count) {
  return (await addCopies(lab, shop, count, { document: HOT_DOCUMENT })).ids;
}

/**
 * Completed orders, of one customer after the other, with what they earned: credits, ledger entries, and the sums of the
 * wallets.
 *
 * @param {Lab} lab @param {LifecycleShop} shop
 * @param {number} least how many
 * @returns {Promise<string[]>} their ids
 */
export async function addCompleted(lab, shop, least) {
  const { model } = shop;
  const count = forAll(least);
  const [at, availableAt, expiresAt] = /** @type {[string, string, string]} */ (
    [model.at, model.validity.availableAt, model.validity.expiresAt].map(toSql)
  );
  const { ids, id, creditId } = await addCopies(lab, shop, count, {
    status: escape('completed'),
    earned_cents: model.earnedCents,
    kept_cents: model.earnedCents,
    version: 2,
    completed_version: 1,
    completed_at: at,
    completed_by: 'm.created_by',
    cashback_available_at: availableAt,
    cashback_expires_at: expiresAt,
  });
  await addEarned(lab, shop, { count, at, availableAt, expiresAt, id, creditId });
  return ids;
}

/**
 * Inserts what completed orders earned.
 *
 * @param {Lab} lab @param {LifecycleShop} shop
 * @param {{ count: number, at: string, availableAt: string, expiresAt: string, id: string, creditId: string }} orders as SQL
 */
async function addEarned(lab, shop, { count, at, availableAt, expiresAt, id, creditId }) {
  const { schema, model } = shop;
  const { earnedCents: amount_cents } = model;
  const nth = `(n DIV ${LIFECYCLE_CUSTOMERS} + 1)`;
  const common = {
    merchant_id: 'w.merchant_id',
    wallet_id: 'w.id',
    seq: `w.last_seq + ${nth}`,
    order_id: id,
    amount_cents,
  };
  // The text has the character set of the column, so that the index is used.
  const from = `numbers JOIN wallets w ON w.id = CONVERT(${idOf(`(n % ${LIFECYCLE_CUSTOMERS})`, WALLET_PREFIX)} USING ascii)`;
  const credit = {
    ...common,
    id: creditId,
    remaining_cents: amount_cents,
    available_at: availableAt,
    expires_at: expiresAt,
  };
  await insertNumbered(lab, schema, 'cashback_credits', count, { ...credit, created_at: at }, from);
  const entry = {
    ...common,
    kind: escape('earn'),
    balance_cents: `w.balance_cents + ${nth} * ${amount_cents}`,
    credit_id: creditId,
    effective_at: at,
    created_at: at,
  };
  await insertNumbered(lab, schema, 'cashback_entries', count, entry, from);
  const each = count / LIFECYCLE_CUSTOMERS;
  await lab.sql(
    schema,
    `UPDATE wallets SET balance_cents = balance_cents + ?, pending_cents = pending_cents + ?, last_seq = last_seq + ?,
                        available_until = LEAST(available_until, ${availableAt})
      WHERE document <> ?`,
    [each * amount_cents, each * amount_cents, each, String(HOT_DOCUMENT)],
  );
}
