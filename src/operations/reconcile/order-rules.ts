import { isDeepStrictEqual } from 'node:util';
import { cashbackToReceive, earnAmountProblem, redeemableMaximum } from '../../cashback/quote.js';
import { refundAmounts, type RefundedOrder, refundParts } from '../../cashback/refund-parts.js';
import { returnEnd, validityOf } from '../../cashback/validity.js';
import { defaultExpiry, type OrderPaymentMethod } from '../../orders/order-content.js';
import { type Order } from '../../orders/order.entity.js';
import { amountsOfItems } from '../../orders/refund-items.js';
import { type Refund } from '../../orders/refund.entity.js';
import { sumCents } from '../../platform/values/money.js';
import { after, HOUR_MS, MINUTE_MS } from '../../platform/values/time.js';
import { eventsAreVersions } from './order-events.js';
import { type CreditMove, type OrderRecord } from './order-record.js';
import { type Finding } from './page.js';

const ORDER_RULES: Record<string, (record: OrderRecord) => boolean> = {
  'an order belongs to an existing merchant': ({ row }) => row.existing_merchant_id !== null,

  'only completed orders have completed_at and completed_by, and only cancelled orders have cancelled_at, cancelled_by and perhaps a reason':
    ({ order: o }) =>
      (o.completedAt !== null) === o.wasCompleted &&
      (o.completedBy !== null) === o.wasCompleted &&
      (o.cancelledAt !== null) === (o.status === 'cancelled') &&
      (o.cancelledBy !== null) === (o.status === 'cancelled') &&
      (o.cancelReason === null || o.status === 'cancelled'),

  'an order is created at the instant of its ID, and expires within the bounds of its policy': ({ order }) =>
    isMadeAt(order) && expiresWithinBounds(order),

  'an order changes after its creation, last when it is cancelled, completed or refunded': changesInOrder,

  'each refund is a version after the completed one, and version 1 is a pending order that did not change': ({
    order: o,
    refunds,
    change,
  }) =>
    o.wasCompleted
      ? o.version === Number(o.completedVersion) + 1 + refunds.length + (change === undefined ? 0 : 1) &&
        Number(o.completedVersion) >= 1
      : o.completedVersion === null &&
        (o.version === 1 ? o.status === 'pending' && +o.updatedAt === +o.createdAt : o.version > 1),

  'the payment methods add up to at most the total, and only a completed order has final ones': ({ order: o }) =>
    paidCents(o.paymentMethods) <= o.totalCents &&
    (o.finalPaymentMethods === null ||
      (o.wasCompleted && paidCents(o.finalPaymentMethods) + o.redeemedCents <= o.totalCents)),

  'the eligible total is less than the total, or left out': ({ order: o }) =>
    o.eligibleTotalCents === null || (o.eligibleTotalCents >= 0 && o.eligibleTotalCents < o.totalCents),

  'the status matches the refunded amount': ({ order: o }) =>
    (o.refundedCents > 0 ? (o.refundedCents === o.totalCents ? 'refunded' : 'partially_refunded') : null) ===
    (['partially_refunded', 'refunded'].includes(o.status) ? o.status : null),

  'what an order held, redeemed or lost when it expired is within the limits of its policy, and fits its status': ({
    order: o,
  }) =>
    [o.heldCents, o.redeemedCents, o.lapsedCents].every((cents) => cents >= 0 && cents <= redeemableCents(o)) &&
    (o.heldCents === 0 || o.status === 'pending') &&
    (o.lapsedCents === 0 || o.status === 'expired') &&
    (o.redeemedCents === 0 || o.wasCompleted),

  'a completed order earned the amount of the formula, and all other orders earned nothing': ({ order: o }) =>
    o.earnedCents ===
    (o.wasCompleted ? cashbackToReceive({ ...o, paymentMethods: o.effectivePaymentMethods }, o.policy).earnedCents : 0),

  'a completed order has the dates of its policy, and no other order has any': ({ order: o }) => {
    const { cashbackAvailableAt: availableAt, cashbackExpiresAt: expiresAt } = o;
    if (o.completedAt === null) return availableAt === null && expiresAt === null;
    const expected = validityOf(o.policy, o.completedAt);
    return isSameDay(availableAt, expected.availableAt) && isSameDay(expiresAt, expected.expiresAt);
  },

  "a correction of a customer has the order's merchant and wallet, and the order has its instant": ({
    order: o,
    row,
    change,
  }) =>
    change === undefined
      ? o.customerChangedAt === null && o.customerChangedBy === null && o.customerChangeReason === null
      : change.merchantId === o.merchantId &&
        change.walletId === row.wallet_id &&
        +change.createdAt === Number(o.customerChangedAt) &&
        change.createdBy === o.customerChangedBy,

  'a completed order has a wallet, and a credit of the earned amount with its dates if it earned anything': ({
    order: o,
    row,
    change,
  }) =>
    (row.wallet_id !== null || !o.wasCompleted) &&
    (row.credit_wallet_id === null
      ? (change?.movedCents ?? o.earnedCents) === 0
      : row.credit_wallet_id === row.wallet_id &&
        row.credit_cents === (change?.movedCents ?? o.earnedCents) &&
        +row.credit_created_at! === Number(change?.createdAt ?? o.completedAt) &&
        +row.credit_available_at! === Number(o.cashbackAvailableAt) &&
        +row.credit_expires_at! === Number(o.cashbackExpiresAt)),

  'the amounts that an order holds, redeemed, earned, returned and took back are the sums of its holds, entries and claims':
    ({ order: o, row }) =>
      o.heldCents === row.holds_cents &&
      o.redeemedCents === row.redeem_entries &&
      o.earnedCents === row.earn_entries &&
      o.returnedCents === row.return_entries &&
      o.takenBackCents === row.take_back_entries + Number(row.credit_claimed_cents),

  'what an order refunded, returned and took back are the sums of its refunds': ({ order: o, refunds }) => {
    const sumOf = (amount: (refund: Refund) => number): number => sumCents(refunds.map(amount));
    return (
      o.refundedCents === sumOf((refund) => refund.amountCents) &&
      o.refundedEligibleCents === sumOf((refund) => refund.eligibleCents) &&
      o.returnedCents === sumOf((refund) => refund.returnedCents) &&
      o.takenBackCents === sumOf((refund) => refund.takenBackCents)
    );
  },

  'each refund has the amounts of its items and the eligible part, returned and took back what the formulas say, and what is left of the earned cashback follows':
    refundsFollow,

  'an order asks to earn at most the share of its policy': ({ order: o }) =>
    earnAmountProblem(o, o.policy) === undefined,

  'what refunds return goes to the credits that the order redeemed from, latest expiry first, and for seven days to a new credit':
    returnsAreInReverse,

  'each version of an order has one event of its type, which says the same as the rows': eventsAreVersions,
};

/** Returns the rules that an order breaks. A rule that throws an error counts as broken. */
export function* brokenRules(record: OrderRecord): Generator<Finding> {
  for (const [invariant, holds] of Object.entries(ORDER_RULES)) {
    let error: string | undefined;
    try {
      if (holds(record)) continue;
    } catch (thrown) {
      error = String(thrown);
    }
    const { order_id, status, ...others } = record.row;
    const isFigure = (value: unknown): boolean => typeof value === 'number' || value instanceof Date;
    const figures = Object.entries(others).filter(([, value]) => isFigure(value));
    yield { invariant, order_id, status, ...Object.fromEntries(figures), ...(error !== undefined && { error }) };
  }
}

const paidCents = (methods: readonly OrderPaymentMethod[]): number =>
  sumCents(methods.map(({ amountCents }) => amountCents));

/** The balance at that instant is unknown, but the other limits are known. */
const redeemableCents = (order: Order): number => redeemableMaximum(order, order.totalCents, order.policy).maximumCents;

const beforeRefunds = (order: Order): RefundedOrder => {
  const nothing = { refundedCents: 0, refundedEligibleCents: 0, returnedCents: 0, takenBackCents: 0 };
  return { ...order, ...nothing, keptCents: order.earnedCents };
};

/** Makes the refunds again. What had expired unspent before each is not known, but in all at most what has by now. */
function refundsFollow({ order: o, row, refunds, change }: OrderRecord): boolean {
  const state = beforeRefunds(o);
  const isMovedBefore = (version: number): boolean => change !== undefined && change.version < version;
  let lostCents = 0;
  const lose = (): number => (lostCents = o.earnedCents - state.takenBackCents - change!.movedCents);
  const follow = refunds.every((refund, at) => {
    if (isMovedBefore(refund.version) && !isMovedBefore(refunds[at - 1]?.version ?? 0)) lose();
    const { amountCents } = refund;
    const { requestedEligibleCents: eligibleCents, requestedTakeBackCents: takeBackCents } = refund;
    const sent = { amountCents, eligibleCents, takeBackCents };
    const ofItems = refund.returned && amountsOfItems({ ...o, ...state }, refund.returned, refunds.slice(0, at));
    const amounts = refundAmounts(state, sent, o.policy.earnRateMaximumBps);
    const { returnedCents, takenBackCents } = refundParts(state, amounts);
    state.refundedCents += amountCents;
    state.refundedEligibleCents += amounts.eligibleCents;
    state.returnedCents += returnedCents;
    state.takenBackCents += refund.takenBackCents;
    state.keptCents -= amounts.dueCents;
    return (
      refund.version === Number(o.completedVersion) + 2 + at + (isMovedBefore(refund.version) ? 1 : 0) &&
      (ofItems === null || isDeepStrictEqual(ofItems, { amountCents, eligibleCents: refund.eligibleCents })) &&
      refund.eligibleCents === amounts.eligibleCents &&
      refund.requestedEligibleCents === amounts.requestedEligibleCents &&
      refund.dueCents === amounts.dueCents &&
      refund.requestedTakeBackCents === amounts.requestedTakeBackCents &&
      refund.returnedCents === returnedCents &&
      refund.takenBackCents <= takenBackCents
    );
  });
  if (change !== undefined && !isMovedBefore(refunds.at(-1)?.version ?? 0)) lose();
  const waivedCents = o.earnedCents - state.keptCents - state.takenBackCents;
  const mostCents = row.expired_cents + row.expired_before_cents + lostCents;
  return follow && o.keptCents === state.keptCents && o.lostCents === lostCents && waivedCents <= mostCents;
}

/** A UUID v7 begins with its instant. */
const isMadeAt = ({ id, createdAt }: Order): boolean =>
  id[14] !== '7' || parseInt(id.slice(0, 8) + id.slice(9, 13), 16) === +createdAt;

function expiresWithinBounds({ createdAt, updatedAt, expiresAt, requestedExpiresAt, version, policy }: Order): boolean {
  const isWithin = (at: Date, last: Date): boolean =>
    at >= after(createdAt, MINUTE_MS) && at <= after(last, mostMinutes * MINUTE_MS);
  const mostMinutes = Math.max(policy.orderTtlMinutes, policy.maxOrderTtlMinutes) + 1;
  const firstExpiry = requestedExpiresAt ?? defaultExpiry(policy, createdAt);
  return (
    isWithin(firstExpiry, createdAt) && isWithin(expiresAt, updatedAt) && (version > 1 || +expiresAt === +firstExpiry)
  );
}

function changesInOrder({ order: o, refunds, change }: OrderRecord): boolean {
  const later = [...refunds, ...(change === undefined ? [] : [change])];
  const changedAt = Math.max(0, ...later.map(({ createdAt }) => +createdAt));
  const last = o.cancelledAt ?? (later.length > 0 ? changedAt : o.completedAt);
  return (
    o.updatedAt >= o.createdAt &&
    (last === null || +last === +o.updatedAt) &&
    (o.completedAt === null || (o.completedAt >= o.createdAt && o.completedAt <= o.updatedAt)) &&
    (o.status !== 'expired' || o.updatedAt >= o.expiresAt)
  );
}

/**
 * Returns whether two instants are the beginning of the same day. A country can change its daylight saving time after
 * the first one was computed, and days then start an hour earlier or later.
 */
const isSameDay = (actual: Date | null, expected: Date): boolean =>
  actual !== null && [0, HOUR_MS].includes(Math.abs(+actual - +expected));

/** Whether each returned amount is in its credit: in the reverse order of those that the order redeemed from. */
function returnsAreInReverse({ order, refunds, moves }: OrderRecord): boolean {
  const redeemed = moves
    .filter(({ cents }) => cents < 0)
    .sort((a, b) => +b.expires_at - +a.expires_at || b.seq - a.seq);
  const leftCents = new Map(redeemed.map((move) => [move, -move.cents]));
  const returned = moves.filter(({ cents }) => cents > 0);
  return returned.every((move, at) => {
    const refund = refunds.find(({ id }) => id === move.refund_id);
    const from = redeemed.find((candidate) => leftCents.get(candidate)! > 0);
    if (refund === undefined || from === undefined) return false;
    const left = leftCents.get(from)! - move.cents;
    leftCents.set(from, left);
    // Only the last part of a refund can be less than what is left of a credit.
    const isLast = returned[at + 1]?.refund_id !== move.refund_id;
    return (
      (left === 0 || (left > 0 && isLast)) && isInCredit(move, from, returnEnd(order.policy.timeZone, refund.createdAt))
    );
  });
}

/** Whether an amount returned to the credit that it was redeemed from, or to a new one if that one ends too soon. */
function isInCredit(move: CreditMove, from: CreditMove, end: Date): boolean {
  if (move.credit_id === from.credit_id) return +from.expires_at > +end - HOUR_MS;
  return (
    move.credit_refund_id === move.refund_id &&
    move.from_credit_id === (from.from_credit_id ?? from.credit_id) &&
    +move.available_at === +move.created_at &&
    // It ends within days, so the rules of its time zone are those that it was made with.
    +move.expires_at === +end &&
    +from.expires_at < +end + HOUR_MS
  );
}
