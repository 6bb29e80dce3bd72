// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Shop } from '../seed.mjs' */
import { setTimeout as sleep } from 'node:timers/promises';
import { escape } from 'mysql2';
import { drive } from '../load.mjs';
import { completions, createSome } from '../operations.mjs';
import { addWallets, CHUNK, CREDIT, idOf } from '../seed.mjs';

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
    const sequence = `sequence + ${have}`;
    const copies = {
      merchant_id: 'merchant_id',
      sequence,
      id: idOf(sequence, prefix),
      type: `IF((${sequence}) % ${RARE} = 0, ${escape(RARE_TYPE)}, type)`,
      subject_id: 'subject_id',
      data: 'data',
      occurred_at: 'occurred_at',
      made_by: 'made_by',
    };
    const from = `events WHERE merchant_id = ${escape(merchantId)} AND sequence <= ${more}`;
    await lab.insertFrom(schema, 'events', copies, from);
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
  const [from, until, change] = /** @type {[string, string, string]} */ (
    [availableAt, expiresAt, isAvailable ? expiresAt : availableAt].map((at) => escape(toSql(at)))
  );
  const created_at = `${from} - INTERVAL 30 DAY`;
  await addWallets(lab, shop, {
    count,
    firstDocument: 60_000_000_000,
    prefix: '01934000',
    creditsEach: 1,
    wallet: {
      available_cents: isAvailable ? CREDIT : 0,
      pending_cents: isAvailable ? 0 : CREDIT,
      available_as_of: `${change} - INTERVAL 1 HOUR`,
      available_until: change,
      created_at,
    },
    credit: { available_at: from, expires_at: until, created_at },
  });
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
