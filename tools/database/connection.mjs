// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';

/** The schema that `npm start` uses. */
export const DATABASE_NAME = 'cashback';

/**
 * Opens one connection. mysql2 accepts only the scheme `mysql:`. The service also accepts `mariadb:`, for TypeORM.
 *
 * @param {string} url
 */
export function connect(url) {
  return createConnection({ uri: url.replace(/^mariadb:/, 'mysql:'), connectTimeout: 3_000 });
}

/**
 * Runs one statement on a connection of its own.
 *
 * @param {string} url
 * @param {string} sql
 * @param {unknown[]} [values]
 * @returns {Promise<Record<string, unknown>[]>} the rows
 */
export async function query(url, sql, values = []) {
  const connection = await connect(url);
  try {
    const [rows] = await connection.query(sql, values);
    return /** @type {Record<string, unknown>[]} */ (rows);
  } finally {
    connection.destroy();
  }
}

/**
 * Returns the name and version of the server, such as "MySQL 8.4.7" or "MariaDB 10.11.14".
 *
 * @param {string} url
 */
async function readVersion(url) {
  const [row] = await query(url, 'SELECT VERSION() AS version');
  const version = String(row?.['version']);
  const number = version.split('-')[0] ?? version;
  return version.includes('MariaDB') ? `MariaDB ${number}` : `MySQL ${number}`;
}

/**
 * Waits until the server answers a query: an open port does not mean that it is ready.
 *
 * @param {string} url
 * @param {object} options
 * @param {number} options.timeoutMs
 * @param {() => boolean} [options.hasExited] stops the wait early when the server has exited
 * @returns {Promise<string>} its version
 * @throws the last error of the connection after the timeout, or if the server has exited
 */
export async function waitUntilReady(url, { timeoutMs, hasExited = () => false }) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await readVersion(url);
    } catch (error) {
      if (hasExited()) throw new Error('the server exited before it was ready', { cause: error });
      // A wrong password or a missing database is permanent. Other errors are those of a server that is starting.
      const code = String(/** @type {NodeJS.ErrnoException} */ (error).code);
      if (Date.now() > deadline || /^ER_(ACCESS|DBACCESS|BAD_DB)/.test(code)) throw error;
    }
    await sleep(150);
  }
}

/**
 * Creates the schema of the service unless it exists.
 *
 * @param {string} serverUrl
 */
export async function createDatabase(serverUrl) {
  await query(serverUrl, `CREATE DATABASE IF NOT EXISTS \`${DATABASE_NAME}\` CHARACTER SET utf8mb4`);
}
