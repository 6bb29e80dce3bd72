// @ts-check
//
// Hold, completion and refund of orders in transactions that lock, read and write what the service does. They know only
// what the measurements send: orders that are not due, wallets without debt that no date has changed since they were
// written, completions without a hold, and partial refunds of orders that redeemed nothing.
import { cents, earnedCents, eventData, orderAnswer, refundAnswer, validityOf } from './answers.mjs';
import { callerOf, insert, inTransaction, newId, NEXT_CHANGE, ORDER_COLUMNS, parsed, whoIsAmong } from './database.mjs';

/**
 * @typedef {Record<string, any>} Row
 * @typedef {object} Change a locked order with its locked wallet; both are changed in memory first
 * @property {import('./database.mjs').Run} run
 * @property {Row} order
 * @property {Row} wallet
 * @property {Date} now
 * @property {string} userId who makes the change
 */

const LOCK_ORDER = `
  SELECT ${ORDER_COLUMNS.map(([name]) => name).join(', ')} FROM orders WHERE merchant_id = ? AND id = ? FOR UPDATE`;
const LOCK_WALLET = `
  SELECT id, merchant_id, debt_cents, balance_cents, available_cents, pending_cents, held_cents, available_as_of, last_seq
    FROM wallets WHERE merchant_id = ? AND document = ? FOR UPDATE`;
const OPEN_CREDITS = `
  SELECT id, seq, expires_at, remaining_cents - held_cents AS free_cents, 0 AS own_cents
    FROM cashback_credits FORCE INDEX (ix_cashback_credits_expiry)
   WHERE wallet_id = ? AND merchant_id = ? AND is_open = 1 AND expires_at > ? AND available_at <= ?
   ORDER BY expires_at, seq LIMIT 50`;
const HELD_CREDITS = `
  SELECT c.id, c.seq, c.expires_at, c.remaining_cents - c.held_cents AS free_cents, h.amount_cents AS own_cents
    FROM cashback_holds h JOIN cashback_credits c ON c.id = h.credit_id AND c.merchant_id = h.merchant_id
   WHERE h.merchant_id = ? AND h.order_id = ?`;
/** What an order redeemed, and the credit that it earned. */
const REFUNDABLE = `
  SELECT c.id, c.available_at, -e.amount_cents AS redeemed_cents
    FROM cashback_entries e JOIN cashback_credits c ON c.id = e.credit_id AND c.merchant_id = e.merchant_id
   WHERE e.order_id = ? AND e.merchant_id = ? AND e.kind = 'redeem'
   UNION ALL
  SELECT id, available_at, 0 FROM cashback_credits WHERE order_id = ? AND merchant_id = ?`;
const HOLD_OF_CREDIT = 'UPDATE cashback_credits SET held_cents = held_cents + ? WHERE id = ?';
const SET_HOLD = `
  INSERT INTO cashback_holds (order_id, credit_id, merchant_id, amount_cents) VALUES (?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE amount_cents = VALUES(amount_cents)`;
const END_HOLD = 'DELETE FROM cashback_holds WHERE order_id = ? AND credit_id = ?';
const TAKE_BACK = 'UPDATE cashback_credits SET remaining_cents = remaining_cents - ? WHERE id = ?';
const SAVE_WALLET = `
  UPDATE wallets SET balance_cents = ?, available_cents = ?, pending_cents = ?, held_cents = ?, last_seq = ?,
                     available_as_of = ?, available_until = ${NEXT_CHANGE} WHERE id = ?`;

const OPERATIONS = { redemption: hold, complete, refunds: refund };

/** @param {string} operation @returns {operation is keyof typeof OPERATIONS} */
export const isOperation = (operation) => operation in OPERATIONS;

/**
 * @param {string} authorization
 * @param {string} orderId
 * @param {keyof typeof OPERATIONS} operation
 * @param {any} body
 * @returns {Promise<object | undefined>} undefined for a token that is none
 */
export async function changeOrder(authorization, orderId, operation, body) {
  const startedAt = new Date();
  const caller = await callerOf(authorization, startedAt);
  if (caller === undefined) return undefined;
  const { merchantId, userId } = caller;
  return inTransaction(async (run) => {
    const [order] = await run(LOCK_ORDER, [merchantId, orderId]);
    const [wallet] = await run(LOCK_WALLET, [merchantId, order.document]);
    for (const column of ['items', 'payment_methods', 'policy']) order[column] = parsed(order[column]);
    const now = new Date(Math.max(Date.now(), +wallet.available_as_of, +order.updated_at));
    return OPERATIONS[operation]({ run, order, wallet, now, userId }, body);
  });
}

/** Holds an amount in place of an earlier one, of the credits that expire first. @param {Change} change @param {any} body */
async function hold(change, body) {
  const { run, order, wallet, now } = change;
  const { id, merchant_id } = wallet;
  const held = order['held_cents'] > 0 ? await run(HELD_CREDITS, [merchant_id, order['id']]) : [];
  const open = await run(OPEN_CREDITS, [id, merchant_id, now, now]);
  const credits = new Map([...open, ...held].map((credit) => [credit.id, credit]));
  let left = cents(body.amount);
  for (const credit of [...credits.values()].sort((a, b) => +a.expires_at - +b.expires_at || a.seq - b.seq)) {
    const part = Math.min(left, credit.own_cents + credit.free_cents);
    left -= part;
    if (part === credit.own_cents) continue;
    await run(HOLD_OF_CREDIT, [part - credit.own_cents, credit.id]);
    if (part > 0) await run(SET_HOLD, [order['id'], credit.id, merchant_id, part]);
    else await run(END_HOLD, [order['id'], credit.id]);
  }
  const more = cents(body.amount) - order['held_cents'];
  wallet['available_cents'] -= more;
  wallet['held_cents'] += more;
  await save(change, 'order.redemption_held', { held_cents: order['held_cents'] + more });
  return answerOf(order, wallet);
}

/** @param {Change} change */
async function complete(change) {
  const { run, order, wallet, now, userId } = change;
  const earned = earnedCents(order['policy'], order['total_cents']);
  const { availableAt, expiresAt } = validityOf(order['policy'], now);
  const credit = {
    id: newId(now),
    wallet_id: wallet['id'],
    merchant_id: wallet['merchant_id'],
    seq: wallet['last_seq'] + 1,
    order_id: order['id'],
    amount_cents: earned,
    remaining_cents: earned,
    held_cents: 0,
    available_at: availableAt,
    expires_at: expiresAt,
    created_at: now,
  };
  await insert(run, 'cashback_credits', credit);
  wallet['pending_cents'] += earned;
  await move(change, { kind: 'earn', amount_cents: earned, credit_id: credit.id });
  await save(change, 'order.completed', {
    status: 'completed',
    earned_cents: earned,
    kept_cents: earned,
    completed_at: now,
    completed_by: userId,
    completed_version: order['version'],
    cashback_available_at: availableAt,
    cashback_expires_at: expiresAt,
  });
  return answerOf(order, wallet);
}

/** @param {Change} change @param {any} body */
async function refund(change, body) {
  const { run, order, wallet, now, userId } = change;
  const { id: order_id, merchant_id, total_cents: total, earned_cents: earned } = order;
  const credit = (await run(REFUNDABLE, [order_id, merchant_id, order_id, merchant_id])).at(-1);
  const amount = cents(body.amount);
  const keptOf = (/** @type {number} */ refunded) => Math.floor((earned * (total - refunded)) / total);
  const taken = keptOf(order['refunded_cents']) - keptOf(order['refunded_cents'] + amount);
  const row = {
    id: newId(now),
    order_id,
    merchant_id,
    external_id: body.external_id,
    version: order['version'] + 1,
    amount_cents: amount,
    eligible_cents: amount,
    due_cents: taken,
    returned_cents: 0,
    taken_back_cents: taken,
    created_at: now,
    created_by: userId,
  };
  await insert(run, 'refunds', row);
  await run(TAKE_BACK, [taken, credit.id]);
  wallet[credit.available_at > now ? 'pending_cents' : 'available_cents'] -= taken;
  await move(change, { kind: 'take_back', amount_cents: -taken, credit_id: credit.id, refund_id: row.id });
  const answer = refundAnswer(row, order, await whoIsAmong(userId));
  const values = {
    status: 'partially_refunded',
    refunded_cents: order['refunded_cents'] + amount,
    refunded_eligible_cents: order['refunded_eligible_cents'] + amount,
    taken_back_cents: order['taken_back_cents'] + taken,
    kept_cents: order['kept_cents'] - taken,
  };
  await save(change, 'order.refunded', values, answer);
  return answer;
}

/** @param {Row} order @param {Row} wallet */
async function answerOf(order, wallet) {
  const whoIs = await whoIsAmong(order['created_by'], order['completed_by']);
  return orderAnswer(order, wallet['available_cents'], whoIs);
}

/** Adds a movement to the ledger. @param {Change} change @param {Row} entry */
async function move({ run, order, wallet, now, userId }, entry) {
  wallet['balance_cents'] += entry['amount_cents'];
  wallet['last_seq'] += 1;
  await insert(run, 'cashback_entries', {
    wallet_id: wallet['id'],
    merchant_id: wallet['merchant_id'],
    seq: wallet['last_seq'],
    balance_cents: wallet['balance_cents'],
    debt_cents: wallet['debt_cents'],
    order_id: order['id'],
    effective_at: now,
    created_at: now,
    made_by: userId,
    ...entry,
  });
}

/**
 * Saves the wallet and the order, and the event of the change.
 *
 * @param {Change} change
 * @param {string} type
 * @param {Row} values columns of the order that change
 * @param {object} [refunded] the refund that it is
 */
async function save({ run, order, wallet, now, userId }, type, values, refunded) {
  const { id, merchant_id } = wallet;
  const sums = ['balance_cents', 'available_cents', 'pending_cents', 'held_cents', 'last_seq'].map(
    (sum) => wallet[sum],
  );
  const next = [id, merchant_id, now];
  await run(SAVE_WALLET, [...sums, now, ...next, ...next, id]);
  const changed = { ...values, version: order['version'] + 1, updated_at: now };
  Object.assign(order, changed);
  const assignments = Object.keys(changed).map((column) => `${column} = ?`);
  await run(`UPDATE orders SET ${assignments.join(', ')} WHERE id = ?`, [...Object.values(changed), order['id']]);
  const data = JSON.stringify(eventData(order, wallet, refunded));
  await insert(run, 'event_outbox', {
    ...{ merchant_id, event_id: newId(now), type, subject_id: order['id'], data, occurred_at: now, made_by: userId },
  });
}
