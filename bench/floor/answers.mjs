// @ts-check
//
// Answers of the size of the service's, of orders as the measurements send them.

/**
 * @typedef {{ earnRateBps: number, redeemShareBps: number, orderTtlMinutes: number, releaseDays: number, validityDays: number }} Policy
 * @typedef {Record<string, any>} OrderRow its columns by name, with parsed JSON
 * @typedef {(userId: string | null) => object | null} WhoIs returns who made a change
 */

const DAY_MS = 86_400_000;
/** A day of the policy's time zone, São Paulo, begins at 03:00 UTC. */
const DAY_BEGINS_MS = 3 * 3_600_000;

export const cents = (/** @type {string} */ amount) => Math.round(Number(amount) * 100);
export const money = (/** @type {number} */ amountCents) => (amountCents / 100).toFixed(2);
export const later = (/** @type {Date} */ from, /** @type {number} */ milliseconds) =>
  new Date(from.getTime() + milliseconds);

/** When cashback that is earned at an instant can be spent. @param {Policy} policy @param {Date} at */
export function validityOf({ releaseDays, validityDays }, at) {
  const day = Math.floor((at.getTime() - DAY_BEGINS_MS) / DAY_MS) * DAY_MS + DAY_BEGINS_MS;
  const availableAt = new Date(day + releaseDays * DAY_MS);
  return { availableAt, expiresAt: later(availableAt, validityDays * DAY_MS) };
}

/** What a sale earns. @param {Policy} policy @param {number} paidCents */
export const earnedCents = ({ earnRateBps }, paidCents) => Math.floor((paidCents * earnRateBps) / 10_000);

/** @param {OrderRow} order @param {number} availableCents @param {WhoIs} whoIs */
export function orderAnswer(order, availableCents, whoIs) {
  const { total_cents: total, refunded_cents: refunded } = order;
  const isOpen = order['status'] === 'pending';
  return {
    id: order['id'],
    external_id: String(order['external_id']),
    status: order['status'],
    version: order['version'],
    document: order['document'],
    store: order['store'],
    currency: 'BRL',
    total: money(total),
    eligible_total: money(order['eligible_total_cents'] ?? total),
    earn_amount: null,
    amount_to_pay: money(total - order['held_cents'] - order['redeemed_cents']),
    items: order['items'].map((/** @type {any} */ { id, priceCents, description }) => ({
      ...{ id, price: money(priceCents), quantity: 1, description },
    })),
    payment_methods: order['payment_methods'].map((/** @type {any} */ { id, amountCents }) => ({
      ...{ id, amount: money(amountCents), earn_rate: (order['policy'].earnRateBps / 10_000).toFixed(2) },
    })),
    metadata: {},
    cashback: cashbackOf(order, availableCents),
    refunded: { amount: money(refunded), amount_to_pay_back: money(refunded - order['returned_cents']) },
    operations: isOpen ? ['hold', 'amend', 'complete', 'cancel'] : ['refund', 'change_customer'],
    ...{ campaign_id: order['campaign_id'], sold_at: order['sold_at'] },
    created_at: order['created_at'],
    created_by: whoIs(order['created_by']),
    updated_at: order['updated_at'],
    expires_at: order['expires_at'],
    completed_at: order['completed_at'],
    completed_by: whoIs(order['completed_by']),
    cancelled_at: order['cancelled_at'],
    cancelled_by: whoIs(order['cancelled_by']),
    cancel_reason: order['cancel_reason'],
    customer_changed_at: null,
    customer_changed_by: null,
    customer_change_reason: null,
  };
}

/** @param {OrderRow} order @param {number} availableCents */
function cashbackOf(order, availableCents) {
  const { policy, total_cents: total, held_cents: held, taken_back_cents: takenBack } = order;
  const isOpen = order['status'] === 'pending';
  return {
    to_redeem: {
      available: money(availableCents),
      ...maximumOf(isOpen, total, availableCents + held, policy),
      held: money(held),
      lapsed: money(order['lapsed_cents']),
      redeemed: money(order['redeemed_cents']),
      returned: money(order['returned_cents']),
    },
    to_receive: {
      amount: money(isOpen ? earnedCents(policy, total - held) : order['earned_cents']),
      limited_by: null,
      taken_back: money(takenBack),
      status: isOpen ? 'quoted' : takenBack > 0 ? 'partially_taken_back' : 'pending',
      ...datesOf(order),
    },
  };
}

/** @param {boolean} isOpen @param {number} totalCents @param {number} balanceCents @param {Policy} policy */
function maximumOf(isOpen, totalCents, balanceCents, { redeemShareBps }) {
  if (!isOpen) return { maximum: money(0), limited_by: null };
  const shareCents = Math.floor((totalCents * redeemShareBps) / 10_000);
  const limited_by = shareCents < balanceCents ? 'order_share' : balanceCents < totalCents ? 'balance' : null;
  return { maximum: money(Math.min(balanceCents, shareCents)), limited_by };
}

const dayOf = (/** @type {Date} */ at) => later(at, -DAY_BEGINS_MS).toISOString().slice(0, 10);

/** @param {OrderRow} order */
function datesOf(order) {
  const quoted = validityOf(order['policy'], order['created_at']);
  const available_at = order['cashback_available_at'] ?? quoted.availableAt;
  const expires_at = order['cashback_expires_at'] ?? quoted.expiresAt;
  return {
    available_at,
    available_on: dayOf(available_at),
    expires_at,
    expires_on: dayOf(later(expires_at, -1)),
  };
}

/** @param {Record<string, any>} refund its row @param {OrderRow} order @param {WhoIs} whoIs */
export function refundAnswer(refund, order, whoIs) {
  return {
    id: refund['id'],
    external_id: refund['external_id'],
    order_id: refund['order_id'],
    order_external_id: String(order['external_id']),
    amount: money(refund['amount_cents']),
    eligible_amount: money(refund['eligible_cents']),
    items: [],
    rest: false,
    cashback_returned: money(refund['returned_cents']),
    cashback_taken_back: money(refund['taken_back_cents']),
    amount_to_pay_back: money(refund['amount_cents'] - refund['returned_cents']),
    reason: null,
    store: null,
    metadata: {},
    created_at: refund['created_at'],
    created_by: whoIs(refund['created_by']),
    voidable: true,
    voided_at: null,
    voided_by: null,
    void_reason: null,
  };
}

/** What the service adds when an event is read. */
const ADDED = [
  'document',
  'items',
  'rest',
  'metadata',
  'created_by',
  'completed_by',
  'cancelled_by',
  'cancel_reason',
  'customer_changed_by',
  'customer_change_reason',
  'reason',
  'voidable',
  'voided_by',
  'void_reason',
];

const withoutAdded = (/** @type {object} */ answer) =>
  Object.fromEntries(Object.entries(answer).filter(([name]) => !ADDED.includes(name)));

/** The data of the event of a new order, which says nothing of the wallet. @param {OrderRow} order */
export function createdData(order) {
  const { cashback, ...shown } = orderAnswer(order, 0, () => null);
  const { held, lapsed, redeemed, returned } = cashback.to_redeem;
  return {
    order: withoutAdded({ ...shown, cashback: { ...cashback, to_redeem: { held, lapsed, redeemed, returned } } }),
  };
}

/** The data of an event. @param {OrderRow} order @param {Record<string, any>} wallet @param {object} [refund] */
export function eventData(order, wallet, refund) {
  const sums = {
    id: wallet['id'],
    available: money(wallet['available_cents']),
    pending: money(wallet['pending_cents']),
    held: money(wallet['held_cents']),
    debt: money(wallet['debt_cents']),
    frozen: false,
  };
  const shown = withoutAdded(orderAnswer(order, wallet['available_cents'], () => null));
  return { order: shown, ...(refund && { refund: withoutAdded(refund) }), wallet: sums };
}
