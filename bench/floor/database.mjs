// @ts-check
import { hash } from 'node:crypto';
import { columnsOf } from '../columns.mjs';

/** A module of the build: the floor has the service's own pool, its IDs and its SQL of balances. */
const built = (/** @type {string} */ module) => import(new URL(`../../dist/src/${module}`, import.meta.url).href);
const { createPool } = await built('platform/database/data-source.js');
export const { newId } = await built('platform/values/ids.js');
export const { NEXT_CHANGE, UNCHANGED_AVAILABLE } = await built('cashback/wallet-sums.js');

// The statement of the service, as it sends it for one request, with what the service reads from the JWT.
const LIVE_TOKEN = `
  SELECT t.access_hash, t.jwt, u.permissions, u.id, u.merchant_id
    FROM token_sets t JOIN sessions s ON s.id = t.session_id JOIN api_users u ON u.id = s.api_user_id
   WHERE t.access_hash IN (?) AND t.access_expires_at > ? AND s.expires_at > ? AND s.revoked_at IS NULL AND u.disabled_at IS NULL`;

/** @type {import('mysql2/promise').Pool} */
export const pool = createPool(
  {
    uri: String(process.env['DATABASE_URL']).replace(/^mariadb:/, 'mysql:'),
    connectionLimit: Number(process.env['DATABASE_POOL_SIZE']),
    timezone: 'Z',
    charset: 'utf8mb4',
    enableKeepAlive: true,
  },
  { statementMs: 3000, tableLockSeconds: 2 },
).promise();

/** @param {string} sql @param {unknown[]} values @returns {Promise<any[]>} */
export async function rowsOf(sql, values) {
  const [rows] = await pool.query(sql, values);
  return /** @type {any[]} */ (rows);
}

/** @typedef {(sql: string, values: unknown[]) => Promise<any[]>} Run runs a prepared statement */

/** Runs prepared statements in a transaction. @template T @param {(run: Run) => Promise<T>} work @returns {Promise<T>} */
export async function inTransaction(work) {
  const connection = await pool.getConnection();
  try {
    await connection.query('START TRANSACTION');
    const result = await work(async (sql, values) => {
      const [rows] = await connection.execute(sql, /** @type {any[]} */ (values));
      return /** @type {any[]} */ (rows);
    });
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    await connection.query('ROLLBACK');
    throw error;
  } finally {
    connection.release();
  }
}

/** @param {Run} run @param {string} table @param {Record<string, any>} row */
export function insert(run, table, row) {
  const columns = Object.keys(row);
  const places = columns.map(() => '?').join(', ');
  return run(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`, Object.values(row));
}

export const ORDER_COLUMNS = await columnsOf(rowsOf, 'orders');

/** @typedef {{ userId: string, merchantId: string }} Caller */

/** @param {string} authorization @param {Date} now @returns {Promise<Caller | undefined>} undefined for a token that is none */
export async function callerOf(authorization, now) {
  const digest = hash('sha256', authorization.slice('Bearer '.length), 'buffer');
  const [token] = await rowsOf(LIVE_TOKEN, [digest, now, now]);
  return token && { userId: token.id, merchantId: token.merchant_id };
}

/** @type {Map<string, string>} */
const names = new Map();

/**
 * Returns who made changes, with names that are read once: the service keeps them for a minute.
 *
 * @param {(string | null)[]} userIds
 * @returns {Promise<import('./answers.mjs').WhoIs>}
 */
export async function whoIsAmong(...userIds) {
  for (const id of userIds.filter((one) => one !== null && !names.has(one))) {
    const [user] = await rowsOf('SELECT name FROM api_users WHERE id = ?', [id]);
    names.set(String(id), user.name);
  }
  return (id) => (id === null ? null : { user_id: id, name: names.get(id) });
}

/** MySQL returns a parsed value, and MariaDB a text. @param {any} json */
export const parsed = (json) => (typeof json === 'string' ? JSON.parse(json) : json);
