// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Shop } from '../seed.mjs' */
import { setTimeout as sleep } from 'node:timers/promises';
import { drive } from '../load.mjs';
import { completions, createSome } from '../operations.mjs';
import { CHUNK, CREDIT, idOf, NUMBERS } from '../seed.mjs';

/** The events that the service makes: a page of different orders. The others are copies of them. */
const ORIGINALS = 100;

/** The type of one event in many. */
export const RARE_TYPE = 'order.renewed';
const RARE = 10_000;

const toSql = (/** @type {Date} */ at) => at.toISOString().slice(0, -1);

/** @param {Lab} lab @param {Shop} shop @returns {Promise<{ first: number, last: number }>} the kept part of the feed */
export async function feedOf(lab, { schema, merchantId }) {
  const sql = 'SELECT oldest_sequence AS first, last_sequence AS last FROM event_feeds WHERE merchant_id = ?';
  const [row] = await lab.sql(schema, sql, [merchantId]);
  return { first: Number(row?.['first'] ?? 1), last: Number(row?.['last'] ?? 0) };
}

/**
 * Fills the empty feed of a merchant with events of completed orders.
 *
 * @param {Lab} lab @param {Shop} shop
 * @param {object} events
 * @param {string} events.url of the service
 * @param {string} events.token
 * @param {number} events.count at least 100
 * @param {string} events.prefix begins the ids, and is another one for each call in a schema
 * @param {Date} [events.at] when they happened
 */
export async function addEvents(lab, shop, { url, token, count, prefix, at = new Date() }) {
  const { schema, merchantId } = shop;
  const ids = (await createSome(url, token, ORIGINALS)).map(({ id }) => id);
  await drive({ url, steps: completions(token, ids), connections: 1, amount: ORIGINALS });
  while ((await feedOf(lab, shop)).last < ORIGINALS) await sleep(100);
  await lab.sql(schema, 'UPDATE events SET occurred_at = ? WHERE merchant_id = ?', [toSql(at), merchantId]);
  for (let have = ORIGINALS; have < count;) {
    const more = Math.min(have, CHUNK, count - have);
    await lab.sql(
      schema,
      `INSERT INTO events (merchant_id, sequence, id, type, subject_id, data, occurred_at)
       SELECT merchant_id, sequence + ?, ${idOf('sequence + ?', prefix)}, IF((sequence + ?) % ? = 0, ?, type), subject_id, data, occurred_at
         FROM events WHERE merchant_id = ? AND sequence <= ?`,
      [have, have, have, RARE, RARE_TYPE, merchantId, more],
    );
    have += more;
    if (have % 1_000_000 === 0 || have === count) lab.say(`${have} events`);
  }
  await lab.sql(schema, 'UPDATE event_feeds SET last_sequence = ? WHERE merchant_id = ?', [count, merchantId]);
}

/**
 * Wallets with one credit each, which was added before it was available.
 *
 * @param {Lab} lab @param {Shop} shop
 * @param {{ count: number, availableAt: Date, expiresAt: Date, isAvailable: boolean }} wallets `isAvailable` says what they
 *   knew when they were last written
 */
export async function addDueWallets(lab, shop, { count, availableAt, expiresAt, isAvailable }) {
  const [from, until, change] = [availableAt, expiresAt, isAvailable ? expiresAt : availableAt].map(toSql);
  for (let first = 0; first < count; first += CHUNK) {
    const chunk = Math.min(CHUNK, count - first);
    const id = idOf('n + ?', '01934000');
    await lab.sql(
      shop.schema,
      `INSERT INTO wallets (id, merchant_id, document, debt_cents, balance_cents, available_cents, available_as_of, available_until, last_seq, created_at) ${NUMBERS}
       SELECT ${id}, ?, 60000000000 + n + ?, 0, ?, ?, ? - INTERVAL 1 HOUR, ?, 0, ? - INTERVAL 30 DAY FROM numbers WHERE n < ?`,
      [first, shop.merchantId, first, CREDIT, isAvailable ? CREDIT : 0, change, change, from, chunk],
    );
    await lab.sql(
      shop.schema,
      `INSERT INTO cashback_credits (id, wallet_id, merchant_id, order_id, reason, amount_cents, remaining_cents, available_at, expires_at, created_at) ${NUMBERS}
       SELECT ${id}, ${id}, ?, NULL, NULL, ?, ?, ?, ?, ? - INTERVAL 30 DAY FROM numbers WHERE n < ?`,
      [first, first, shop.merchantId, CREDIT, CREDIT, from, until, from, chunk],
    );
  }
  await lab.sql(shop.schema, 'ANALYZE TABLE wallets, cashback_credits');
}

/**
 * Makes the service announce what became available at an instant, as if it had announced everything before that.
 *
 * @param {Lab} lab @param {Shop} shop @param {Date} at
 */
export async function announceFrom(lab, shop, at) {
  const before = toSql(new Date(at.getTime() - 1000));
  await lab.sql(shop.schema, "UPDATE event_sweeps SET done_until = ? WHERE kind = 'available'", [before]);
}
