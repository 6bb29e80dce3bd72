// @ts-check
/** @import { Lab } from './lab.mjs' @import { Shop } from './seed.mjs' */
import { hash } from 'bcrypt';
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const EMAIL = 'bench@example.com';
const PASSWORD = 'bench-password-2026';

/**
 * Makes a merchant with an API user.
 *
 * @param {Lab} lab @param {string} schema @param {string} [email] of the API user
 */
export async function addMerchant(lab, schema, email = EMAIL) {
  const admin = async (/** @type {string[]} */ ...args) =>
    JSON.parse(await lab.command(schema, ['dist/src/admin.js', ...args]));
  const merchant = await admin('merchants', 'create', '--name', 'Bench');
  const options = ['--merchant', merchant.id, '--name', 'Bench', '--email', email, '--permissions', 'all'];
  const user = await admin('users', 'create', ...options);
  await lab.sql(schema, 'UPDATE api_users SET password_hash = ? WHERE id = ?', [await hash(PASSWORD, 4), user.id]);
  return { merchantId: String(merchant.id), apiUserId: String(user.id) };
}

/**
 * Sessions with a refresh token each: a session may be refreshed only 60 times per minute.
 *
 * @param {Lab} lab @param {Shop} shop @param {number} count
 * @returns {Promise<string[]>} their refresh tokens
 */
export async function addSessions(lab, shop, count) {
  const [now, later] = [new Date(), new Date(Date.now() + 30 * 86_400_000)];
  const tokens = Array.from({ length: count }, () => ({
    id: randomUUID(),
    access: `cbat_${randomUUID()}`,
    refresh: `cbrt_${randomUUID()}`,
  }));
  const digest = (/** @type {string} */ token) => createHash('sha256').update(token).digest();
  for (let first = 0; first < count; first += 1000) {
    const some = tokens.slice(first, first + 1000);
    const sessions = some.map(({ id }) => ({ id, api_user_id: shop.apiUserId, created_at: now, expires_at: later }));
    await lab.insertRows(shop.schema, 'sessions', sessions);
    const tokenSets = some.map(({ id, access, refresh }) => ({
      id,
      session_id: id,
      access_hash: digest(access),
      refresh_hash: digest(refresh),
      jwt: 'none',
      created_at: now,
      access_expires_at: later,
      refresh_expires_at: later,
    }));
    await lab.insertRows(shop.schema, 'token_sets', tokenSets);
  }
  return tokens.map(({ refresh }) => refresh);
}

/** How often a login that the service asks to repeat is sent again. */
const LOGIN_RETRIES = 5;

/**
 * Logs in as a merchant's system does: after a 429 or 503 it waits as long as `Retry-After` says and tries again.
 *
 * @param {string} url of the service
 * @param {string} [email] of the API user
 * @returns {Promise<string>} the access token
 */
export async function logIn(url, email = EMAIL) {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ email, password: PASSWORD });
  for (let retries = 0; ; retries += 1) {
    const answer = await fetch(`${url}/auth/login`, { method: 'POST', headers, body });
    const text = await answer.text();
    if (answer.status === 201) return JSON.parse(text).access_token;
    if (![429, 503].includes(answer.status) || retries === LOGIN_RETRIES)
      throw new Error(`POST /auth/login returned ${answer.status} after ${retries} retries: ${text}`);
    await sleep(Number(answer.headers.get('retry-after') ?? 1) * 1000);
  }
}
