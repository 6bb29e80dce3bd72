// @ts-check
/** @import { Lab } from '../lab.mjs' */

const WALLETS = 'SELECT w.id FROM wallets w JOIN orders o USING (merchant_id, document) WHERE o.id IN (?)';

/** The rows of orders and of their customers' wallets, in an order that does not depend on generated ids. */
const ROWS = {
  orders: 'SELECT * FROM orders WHERE id IN (?) ORDER BY id',
  wallets: `SELECT * FROM wallets WHERE id IN (${WALLETS}) ORDER BY id`,
  credits: `SELECT * FROM cashback_credits WHERE wallet_id IN (${WALLETS}) ORDER BY wallet_id, seq`,
  entries: `SELECT * FROM cashback_entries WHERE wallet_id IN (${WALLETS}) ORDER BY wallet_id, seq`,
  holds: 'SELECT * FROM cashback_holds WHERE order_id IN (?) ORDER BY order_id, credit_id',
  refunds: 'SELECT * FROM refunds WHERE order_id IN (?) ORDER BY order_id, external_id',
  events: `
    SELECT subject_id, type, made_by, data FROM event_outbox WHERE subject_id IN (?) UNION ALL
    SELECT subject_id, type, made_by, data FROM events WHERE subject_id IN (?) ORDER BY subject_id, type, data`,
};

/** Instants of the change itself, and what needs the secret of the service. */
const OWN = ['created_at', 'updated_at', 'completed_at', 'effective_at', 'available_as_of', 'content_digest'];

/** Ids that were not seeded. */
const GENERATED = /[0-9a-f]{8}-(?!7c1e-7000-8000-)[0-9a-f]{4}-7[0-9a-f-]{17,}/g;

/** A text of what must be the same in both schemas. @param {unknown} value */
export function comparable(value) {
  const text = JSON.stringify(value, (key, part) => (OWN.includes(key) ? undefined : part), 1);
  return text.replaceAll(GENERATED, 'generated');
}

/**
 * Fails if two schemas have different rows for the same orders.
 *
 * @param {Lab} lab @param {[string, string]} schemas @param {string[]} ids of the orders
 */
export async function requireSameRows(lab, schemas, ids) {
  for (const [table, sql] of Object.entries(ROWS)) {
    const [one = '', other = ''] = await Promise.all(
      schemas.map(async (schema) => {
        const rows = await lab.sql(schema, sql, [ids, ids]);
        return comparable(rows.map((row) => ('data' in row ? { ...row, data: JSON.parse(String(row['data'])) } : row)));
      }),
    );
    requireSame(table, one, other);
  }
}

/** @param {string} what @param {string} one of the service @param {string} other of the floor */
export function requireSame(what, one, other) {
  if (one === other) return;
  const [ours, theirs] = [one.split('\n'), other.split('\n')];
  const at = ours.findIndex((line, number) => line !== theirs[number]);
  const lines = (/** @type {string[]} */ all) => all.slice(Math.max(0, at - 8), at + 2).join('\n');
  throw new Error(`the servers have different ${what}; the service:\n${lines(ours)}\nthe floor:\n${lines(theirs)}`);
}
