import { formatMoney } from '../platform/values/money.js';
import { Problem } from '../platform/values/problem.js';
import { eligibleTotal, type OrderTotals } from './earned.js';
import { shareOf } from './quote.js';

/** A completed order, with what earlier refunds did, in centavos. */
export interface RefundedOrder extends OrderTotals {
  redeemedCents: number;
  earnedCents: number;
  refundedCents: number;
  /** The part of `refundedCents` that concerned what the order earned cashback on. */
  refundedEligibleCents: number;
  returnedCents: number;
  takenBackCents: number;
  /** What is left of the earned cashback: what refunds neither took back nor waived because it had expired. */
  keptCents: number;
}

/** The cashback that a refund moves, in centavos. */
export interface RefundParts {
  returnedCents: number;
  takenBackCents: number;
}

/**
 * Returns the least and the most that the eligible part of a refund can be. The eligible rest of the order bounds it
 * from above. The ineligible rest bounds the other part of the refund, and so the eligible part from below.
 *
 * @param amountCents at most what is left of the total.
 */
export function eligibleBounds(
  order: RefundedOrder,
  amountCents: number,
): { minimumCents: number; maximumCents: number } {
  const eligibleLeftCents = eligibleTotal(order) - order.refundedEligibleCents;
  const ineligibleLeftCents = order.totalCents - order.refundedCents - eligibleLeftCents;
  return {
    minimumCents: Math.max(0, amountCents - ineligibleLeftCents),
    maximumCents: Math.min(amountCents, eligibleLeftCents),
  };
}

/**
 * Returns the eligible part of a refund that does not say what it concerns: the share of the order that is eligible,
 * within the bounds.
 */
function proportionalEligibleCents(order: RefundedOrder, amountCents: number): number {
  const { minimumCents, maximumCents } = eligibleBounds(order, amountCents);
  const eligibleAt = (refundedCents: number): number =>
    Number((BigInt(eligibleTotal(order)) * BigInt(refundedCents)) / BigInt(order.totalCents));
  const shareCents = eligibleAt(order.refundedCents + amountCents) - eligibleAt(order.refundedCents);
  return Math.min(Math.max(minimumCents, shareCents), maximumCents);
}

/** A refund as the request describes it. */
export interface RequestedRefund {
  amountCents: number;
  /** Null if the request does not have it. */
  eligibleCents: number | null;
  /** The part of the earned cashback that the returned goods had; null if the request does not have it. */
  takeBackCents: number | null;
}

/** The amounts of a refund. */
export interface RefundAmounts {
  amountCents: number;
  eligibleCents: number;
  /** Null if a request without the member has the same. */
  requestedEligibleCents: number | null;
  /** What the customer loses of the earned cashback: it is taken back, apart from what has expired unspent. */
  dueCents: number;
  requestedTakeBackCents: number | null;
}

/**
 * Returns the amounts of a new refund.
 *
 * @param earnRateMaximumBps the share of what is not returned that the customer may keep in any case.
 * @throws Problem refund_exceeds_total, with the bounds of the member that is outside of them.
 */
export function refundAmounts(
  order: RefundedOrder,
  { amountCents, eligibleCents: requested, takeBackCents }: RequestedRefund,
  earnRateMaximumBps: number | null,
): RefundAmounts {
  const leftCents = order.totalCents - order.refundedCents;
  if (amountCents > leftCents) throw outOfBounds('/amount', 'a refund of this order', 1, leftCents);
  const proportionalCents = proportionalEligibleCents(order, amountCents);
  // The same request without the member is a replay if it means the same.
  const requestedEligibleCents = requested === proportionalCents ? null : requested;
  const eligibleCents = requestedEligibleCents ?? proportionalCents;
  const { minimumCents, maximumCents } = eligibleBounds(order, amountCents);
  if (eligibleCents < minimumCents || eligibleCents > maximumCents) {
    const what = `the eligible part of a refund of ${formatMoney(amountCents)}`;
    throw outOfBounds('/eligible_amount', what, minimumCents, maximumCents);
  }
  const defaultCents = order.keptCents - keptAfter(order, eligibleCents);
  const requestedTakeBackCents = takeBackCents === defaultCents ? null : takeBackCents;
  const dueCents = requestedTakeBackCents ?? defaultCents;
  const restCents = eligibleTotal(order) - order.refundedEligibleCents - eligibleCents;
  const leastCents = Math.max(0, Math.min(defaultCents, order.keptCents - shareOf(restCents, earnRateMaximumBps ?? 0)));
  if (dueCents < leastCents || dueCents > order.keptCents) {
    const what = `the cashback that this refund takes back`;
    throw outOfBounds('/take_back', what, leastCents, order.keptCents);
  }
  return { amountCents, eligibleCents, requestedEligibleCents, dueCents, requestedTakeBackCents };
}

function outOfBounds(pointer: string, what: string, minimumCents: number, maximumCents: number): Problem {
  const [minimum, maximum] = [formatMoney(minimumCents), formatMoney(maximumCents)];
  const bounds = minimum === maximum ? `must be ${minimum}` : `must be from ${minimum} to ${maximum}`;
  return new Problem('refund_exceeds_total', {
    detail: `${what} ${bounds}`,
    minimum,
    maximum,
    errors: [{ pointer, detail: bounds }],
  });
}

/**
 * Returns the cashback that a refund moves. What is returned is the rounded-down running total less what earlier
 * refunds returned, so that the refunds of a whole order add up exactly, however it is split. What is due is taken
 * back, except for what expired unspent.
 *
 * @param expiredCents how much of the order's own cashback has expired unspent.
 */
export function refundParts(
  order: RefundedOrder,
  { amountCents, dueCents }: Pick<RefundAmounts, 'amountCents' | 'dueCents'>,
  expiredCents = 0,
): RefundParts {
  const refunded = BigInt(order.refundedCents + amountCents);
  const returnedCents =
    Number((BigInt(order.redeemedCents) * refunded) / BigInt(order.totalCents)) - order.returnedCents;
  const waivedBeforeCents = order.earnedCents - order.keptCents - order.takenBackCents;
  const takenBackCents = Math.max(0, dueCents - Math.max(0, expiredCents - waivedBeforeCents));
  return { returnedCents, takenBackCents };
}

/** Returns how much of what is left of the earned cashback the customer keeps by default. */
function keptAfter({ keptCents, ...order }: RefundedOrder, eligibleCents: number): number {
  const left = BigInt(eligibleTotal(order) - order.refundedEligibleCents);
  // What has no eligible part left has earned nothing, or lost it.
  if (left === 0n) return keptCents;
  return Number((BigInt(keptCents) * (left - BigInt(eligibleCents))) / left);
}
