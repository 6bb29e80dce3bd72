// @ts-check
//
// The floor: order creation with the same statements and a pool of the same size, and nothing else. It validates only what
// the statements need. The difference to the service is the cost of everything else that the service does.
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import { v7 as uuidv7 } from 'uuid';
import { columnsOf } from '../columns.mjs';

/**
 * @typedef {{ id: string, price: string, description?: string }} Item
 * @typedef {{ external_id: string, document: string, total: string, items: Item[], payment_methods: { id: string, amount: string }[] }} Body
 * @typedef {{ earnRateBps: number, redeemShareBps: number, orderTtlMinutes: number, releaseDays: number, validityDays: number }} Policy
 */

const DAY_MS = 86_400_000;

/** The service's own pool and its balance as SQL, from the build. */
const built = (/** @type {string} */ module) => import(new URL(`../../dist/src/${module}`, import.meta.url).href);
const { createPool } = await built('database/connections.js');
const { UNCHANGED_AVAILABLE } = await built('cashback/balance-sql.js');

// The other statements of an order's creation, as the service sends them for one request.
const LIVE_TOKEN = `
  SELECT t.access_hash, t.jwt, u.merchant_id
    FROM token_sets t JOIN sessions s ON s.id = t.session_id JOIN api_users u ON u.id = s.api_user_id
   WHERE t.access_hash IN (?) AND t.access_expires_at > ? AND s.expires_at > ? AND s.revoked_at IS NULL AND u.disabled_at IS NULL`;
/** Read once per second for each merchant. */
const POLICY = 'SELECT policy FROM merchants WHERE id = ?';
const BALANCE = `
  SELECT w.merchant_id, w.document, ${UNCHANGED_AVAILABLE} AS cents FROM wallets w
   WHERE w.merchant_id = ? AND w.document IN (?)`;

const pool = createPool(
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
async function rowsOf(sql, values) {
  const [rows] = await pool.query(sql, values);
  return /** @type {any[]} */ (rows);
}

const ORDER_COLUMNS = await columnsOf(rowsOf, 'orders');
const INSERT_ORDER = `INSERT INTO orders (${ORDER_COLUMNS.map(([name]) => name).join(', ')}) VALUES ?`;

const cents = (/** @type {string} */ amount) => Math.round(Number(amount) * 100);
const money = (/** @type {number} */ amountCents) => (amountCents / 100).toFixed(2);
const later = (/** @type {Date} */ from, /** @type {number} */ milliseconds) => new Date(from.getTime() + milliseconds);

/** @type {Map<string, { policy: Promise<Policy>, readAt: number }>} */
const policies = new Map();

/**
 * The policy of a merchant, at most a second old, as in the service.
 *
 * @param {string} merchantId
 * @returns {Promise<Policy>}
 */
function policyOf(merchantId) {
  const kept = policies.get(merchantId);
  if (kept && performance.now() - kept.readAt < 1000) return kept.policy;
  const policy = rowsOf(POLICY, [merchantId]).then(([row]) =>
    typeof row.policy === 'string' ? JSON.parse(row.policy) : row.policy,
  );
  policies.set(merchantId, { policy, readAt: performance.now() });
  return policy;
}

/**
 * @param {string} authorization
 * @param {Body} body
 * @returns {Promise<object | undefined>} undefined for a token that is none
 */
async function createOrder(authorization, body) {
  const now = new Date();
  const digest = hash('sha256', authorization.slice('Bearer '.length), 'buffer');
  const [token] = await rowsOf(LIVE_TOKEN, [digest, now, now]);
  if (!token) return undefined;
  const merchantId = token.merchant_id;
  const policy = await policyOf(merchantId);
  const id = uuidv7();
  const totalCents = cents(body.total);
  const items = body.items.map(({ price, ...item }) => ({ ...item, priceCents: cents(price) }));
  const methods = body.payment_methods.map((method) => ({ id: method.id, amountCents: cents(method.amount) }));
  const expiresAt = later(now, policy.orderTtlMinutes * 60_000);
  /** @type {Record<string, unknown>} */
  const order = {
    id,
    merchant_id: merchantId,
    external_id: Buffer.from(body.external_id),
    status: 'pending',
    document: body.document,
    total_cents: totalCents,
    items: JSON.stringify(items),
    payment_methods: JSON.stringify(methods),
    policy: JSON.stringify(policy),
    content_digest: hash('sha256', JSON.stringify(body), 'buffer'),
    version: 1,
    created_at: now,
    updated_at: now,
    expires_at: expiresAt,
  };
  await rowsOf(INSERT_ORDER, [[ORDER_COLUMNS.map(([name, empty]) => order[name] ?? empty)]]);
  const [balance] = await rowsOf(BALANCE, [now, merchantId, body.document]);
  const availableCents = Number(balance?.cents ?? 0);
  return answerOf({ id, body, policy, totalCents, availableCents, now, expiresAt });
}

/** @param {{ id: string, body: Body, policy: Policy, totalCents: number, availableCents: number, now: Date, expiresAt: Date }} order */
function answerOf({ id, body, policy, totalCents, availableCents, now, expiresAt }) {
  const maximumCents = Math.min(availableCents, Math.floor((totalCents * policy.redeemShareBps) / 10_000));
  const availableAt = later(now, policy.releaseDays * DAY_MS);
  const cashbackExpiresAt = later(availableAt, policy.validityDays * DAY_MS);
  return {
    id,
    external_id: body.external_id,
    status: 'pending',
    version: 1,
    document: body.document,
    currency: 'BRL',
    total: money(totalCents),
    eligible_total: money(totalCents),
    amount_to_pay: money(totalCents),
    items: body.items.map((item) => ({ ...item, quantity: 1 })),
    payment_methods: body.payment_methods.map((method) => ({
      ...method,
      earn_rate: String(policy.earnRateBps / 10_000),
    })),
    metadata: {},
    cashback: {
      to_redeem: {
        ...{ available: money(availableCents), maximum: money(maximumCents), limited_by: 'balance' },
        ...{ held: '0.00', lapsed: '0.00', redeemed: '0.00', returned: '0.00' },
      },
      to_receive: {
        amount: money(Math.floor((totalCents * policy.earnRateBps) / 10_000)),
        ...{ taken_back: '0.00', status: 'quoted', available_at: availableAt, expires_at: cashbackExpiresAt },
        expires_on: cashbackExpiresAt.toISOString().slice(0, 10),
      },
    },
    refunded: { amount: '0.00', amount_to_pay_back: '0.00' },
    ...{ created_at: now, updated_at: now, expires_at: expiresAt, completed_at: null, cancelled_at: null },
  };
}

/** @param {import('node:http').ServerResponse} response @param {number} status @param {object} body */
function answer(response, status, body) {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

const server = createServer((request, response) => {
  if (request.url === '/health/ready') return answer(response, 200, {});
  /** @type {Buffer[]} */
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString());
    createOrder(request.headers.authorization ?? '', body).then(
      (order) => answer(response, order ? 201 : 401, order ?? {}),
      (error) => answer(response, 500, { message: String(error) }),
    );
  });
});
server.listen(Number(process.env['PORT']), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
