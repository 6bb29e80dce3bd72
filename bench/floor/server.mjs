// @ts-check
//
// The floor: creation of orders with their events, their hold, completion and refund with statements that keep
// the same rows true, a pool of the same size, and nothing else. It validates only what the statements need. The
// difference to the service is the cost of everything else that the service does.
import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import { cents, createdData, later, orderAnswer } from './answers.mjs';
import {
  callerOf,
  insert,
  inTransaction,
  newId,
  ORDER_COLUMNS,
  parsed,
  rowsOf,
  UNCHANGED_AVAILABLE,
  whoIsAmong,
} from './database.mjs';
import { changeOrder, isOperation } from './lifecycle.mjs';

/**
 * @import { Policy } from './answers.mjs'
 * @typedef {{ id: string, price: string, description?: string }} Item
 * @typedef {{ external_id: string, document: string, total: string, items: Item[], payment_methods: { id: string, amount: string }[] }} Body
 */

// Other statements of an order's creation, as the service sends them for one request.
/** Read once per second for each merchant. */
const POLICY = 'SELECT policy FROM merchants WHERE id = ?';
const BALANCE = `
  SELECT w.merchant_id, w.document, ${UNCHANGED_AVAILABLE} AS cents FROM wallets w
   WHERE w.merchant_id = ? AND w.document IN (?)`;

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
  const policy = rowsOf(POLICY, [merchantId]).then(([row]) => parsed(row.policy));
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
  const caller = await callerOf(authorization, now);
  if (caller === undefined) return undefined;
  const { merchantId, userId } = caller;
  const policy = await policyOf(merchantId);
  const items = body.items.map(({ price, ...item }) => ({ ...item, priceCents: cents(price) }));
  const methods = body.payment_methods.map((method) => ({ id: method.id, amountCents: cents(method.amount) }));
  /** @type {Record<string, unknown>} */
  const order = {
    id: newId(now),
    merchant_id: merchantId,
    external_id: Buffer.from(body.external_id),
    status: 'pending',
    document: body.document,
    total_cents: cents(body.total),
    items: JSON.stringify(items),
    payment_methods: JSON.stringify(methods),
    policy: JSON.stringify(policy),
    content_digest: hash('sha256', JSON.stringify(body), 'buffer'),
    version: 1,
    created_at: now,
    updated_at: now,
    expires_at: later(now, policy.orderTtlMinutes * 60_000),
    created_by: userId,
  };
  const row = Object.fromEntries(ORDER_COLUMNS.map(([name, empty]) => [name, order[name] ?? empty]));
  const created = { ...row, items, payment_methods: methods, policy };
  await write(row, createdData(created));
  const [balance] = await rowsOf(BALANCE, [now, merchantId, body.document]);
  return orderAnswer(created, Number(balance?.cents ?? 0), await whoIsAmong(userId));
}

/** Writes an order and the event of its creation. @param {Record<string, unknown>} order its row @param {object} data */
async function write(order, data) {
  const event = {
    merchant_id: order['merchant_id'],
    event_id: newId(order['created_at']),
    type: 'order.created',
    subject_id: order['id'],
    data: JSON.stringify(data),
    occurred_at: order['created_at'],
    made_by: order['created_by'],
  };
  await inTransaction(async (run) => {
    await insert(run, 'orders', order);
    await insert(run, 'event_outbox', event);
  });
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
    const authorization = request.headers.authorization ?? '';
    const [, , id = '', operation = ''] = (request.url ?? '').split('/');
    const answered = isOperation(operation)
      ? changeOrder(authorization, id, operation, body)
      : createOrder(authorization, body);
    answered.then(
      (result) => answer(response, result ? (request.method === 'PUT' ? 200 : 201) : 401, result ?? {}),
      (error) => answer(response, 500, { message: String(error) }),
    );
  });
});
server.listen(Number(process.env['PORT']), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
