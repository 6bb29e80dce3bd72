import { isDeepStrictEqual } from 'node:util';
import { refundAmounts, type RefundedOrder, refundParts } from '../../cashback/refund-parts.js';
import { returnEnd } from '../../cashback/validity.js';
import { type Order } from '../../orders/order.entity.js';
import { amountsOfItems } from '../../orders/refund-items.js';
import { afterRefund } from '../../orders/refund-voids.js';
import { type Refund } from '../../orders/refund.entity.js';
import { HOUR_MS } from '../../platform/values/time.js';
import { type CreditMove, type OrderRecord } from './order-record.js';

export const isVoided = ({ voidedAt }: Refund): boolean => voidedAt !== null;

const beforeRefunds = (order: Order): RefundedOrder => {
  const nothing = { refundedCents: 0, refundedEligibleCents: 0, returnedCents: 0, takenBackCents: 0 };
  return { ...order, ...nothing, keptCents: order.earnedCents };
};

/**
 * Makes the refunds again, and undoes those that were: each void undoes the last one that stands. What had expired
 * unspent before each is not known, but in all at most what has by now; so is what debits took.
 */
export function refundsFollow(o: Order, { row, refunds, change }: OrderRecord): boolean {
  let state = beforeRefunds(o);
  let lostCents = 0;
  const standing: { refund: Refund; before: RefundedOrder }[] = [];
  for (let version = Number(o.completedVersion) + 2; o.wasCompleted && version <= o.version; version++) {
    const refund = refunds.find((one) => one.version === version);
    if (refund !== undefined) {
      const after = follow(
        o,
        state,
        refund,
        standing.map((one) => one.refund),
      );
      if (after === undefined) return false;
      standing.push({ refund, before: state });
      state = after;
    } else if (version === change?.version) lostCents = o.earnedCents - state.takenBackCents - change.movedCents;
    else {
      const undone = standing.pop();
      const isMoved =
        change !== undefined && change.version < version && change.version > (undone?.refund.version ?? 0);
      if (undone === undefined || !isVoided(undone.refund) || isMoved) return false;
      state = undone.before;
    }
  }
  const isComplete = standing.length === refunds.filter((refund) => !isVoided(refund)).length;
  const waivedCents = o.earnedCents - state.keptCents - state.takenBackCents;
  const mostCents = row.gone_cents + row.gone_before_cents + lostCents;
  return (
    isComplete &&
    standing.every(({ refund }) => !isVoided(refund)) &&
    o.keptCents === state.keptCents &&
    o.lostCents === lostCents &&
    waivedCents <= mostCents
  );
}

/** @returns the order after a refund; undefined if the refund is not what the formulas say. */
function follow(
  o: Order,
  state: RefundedOrder,
  refund: Refund,
  standing: readonly Refund[],
): RefundedOrder | undefined {
  const { amountCents, requestedEligibleCents: eligibleCents, requestedTakeBackCents: takeBackCents } = refund;
  const sent = { amountCents, eligibleCents, takeBackCents };
  const ofItems = refund.returned && amountsOfItems({ ...o, ...state }, refund.returned, standing);
  const amounts = refundAmounts(state, sent, o.policy.earnRateMaximumBps);
  const { returnedCents, takenBackCents } = refundParts(state, amounts);
  const isAsSaid =
    (ofItems === null || isDeepStrictEqual(ofItems, { amountCents, eligibleCents: refund.eligibleCents })) &&
    refund.eligibleCents === amounts.eligibleCents &&
    refund.requestedEligibleCents === amounts.requestedEligibleCents &&
    refund.dueCents === amounts.dueCents &&
    refund.requestedTakeBackCents === amounts.requestedTakeBackCents &&
    refund.returnedCents === returnedCents &&
    refund.takenBackCents <= takenBackCents;
  if (!isAsSaid) return undefined;
  return { ...state, ...afterRefund(state, refund, 'made') };
}

/** Whether each returned amount is in its credit: in the reverse order of those that the order redeemed from. */
export function returnsAreInReverse(order: Order, { refunds, moves }: OrderRecord): boolean {
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
