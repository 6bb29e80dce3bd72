import { formatMoney } from '../common/money.js';
import { Problem } from '../common/problem.js';
import type { OrderTotals } from './quote.js';

/** A completed order, with what earlier refunds did, in centavos. */
export interface RefundedOrder extends OrderTotals {
  redeemedCents: number;
  earnedCents: number;
  refundedCents: number;
  /** The part of `refundedCents` that concerned what the order earned cashback on. */
  refundedEligibleCents: number;
  returnedCents: number;
  takenBackCents: number;
}

/** The cashback that a refund moves, in centavos. */
export interface RefundParts {
  returnedCents: number;
  takenBackCents: number;
}

export const eligibleTotal = ({ totalCents, eligibleTotalCents }: OrderTotals): number =>
  eligibleTotalCents ?? totalCents;

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
export function proportionalEligibleCents(order: RefundedOrder, amountCents: number): number {
  const { minimumCents, maximumCents } = eligibleBounds(order, amountCents);
  const eligibleAt = (refundedCents: number): number =>
    Number((BigInt(eligibleTotal(order)) * BigInt(refundedCents)) / BigInt(order.totalCents));
  const shareCents = eligibleAt(order.refundedCents + amountCents) - eligibleAt(order.refundedCents);
  return Math.min(Math.max(minimumCents, shareCents), maximumCents);
}

/** A refund as the request describes it. */
export interface RequestedRefund {
  externalId: string;
  amountCents: number;
  /** Null if the request does not have it. */
  eligibleCents: number | null;
}

/**
 * Returns the amounts of a new refund.
 *
 * @throws Problem refund_exceeds_total, with the bounds of the member that is outside of them.
 */
export function refundAmounts(order: RefundedOrder, { amountCents, eligibleCents }: RequestedRefund) {
  const leftCents = order.totalCents - order.refundedCents;
  if (amountCents > leftCents) throw outOfBounds('/amount', 'a refund of this order', 1, leftCents);
  const proportionalCents = proportionalEligibleCents(order, amountCents);
  // The same request without the member is a replay if it means the same.
  if (eligibleCents === null || eligibleCents === proportionalCents)
    return { amountCents, eligibleCents: proportionalCents, requestedEligibleCents: null };
  const { minimumCents, maximumCents } = eligibleBounds(order, amountCents);
  if (eligibleCents < minimumCents || eligibleCents > maximumCents) {
    const what = `the eligible part of a refund of ${formatMoney(amountCents)}`;
    throw outOfBounds('/eligible_amount', what, minimumCents, maximumCents);
  }
  return { amountCents, eligibleCents, requestedEligibleCents: eligibleCents };
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
 * Returns the cashback that a refund moves. Each part is the rounded-down running total minus the amount that earlier
 * refunds moved, so that the refunds of a whole order add up exactly, however it is split. Redeemed cashback is
 * returned in proportion to the total. Earned cashback is taken back in proportion to the eligible total, except for
 * what expired unspent.
 *
 * @param refund its amount, and the part of it that is eligible.
 * @param expiredCents how much of the order's own cashback has expired unspent.
 */
export function refundParts(
  order: RefundedOrder,
  refund: { amountCents: number; eligibleCents: number },
  expiredCents = 0,
): RefundParts {
  const refunded = BigInt(order.refundedCents + refund.amountCents);
  const returnedCents =
    Number((BigInt(order.redeemedCents) * refunded) / BigInt(order.totalCents)) - order.returnedCents;
  const keptBeforeCents = keptCents(order, order.refundedEligibleCents);
  const dueCents = keptBeforeCents - keptCents(order, order.refundedEligibleCents + refund.eligibleCents);
  // What earlier refunds did not take back, because it had expired unspent.
  const waivedBeforeCents = order.earnedCents - keptBeforeCents - order.takenBackCents;
  const takenBackCents = Math.max(0, dueCents - Math.max(0, expiredCents - waivedBeforeCents));
  return { returnedCents, takenBackCents };
}

/** Returns how much of the earned cashback the customer keeps. An order without an eligible part earned nothing. */
function keptCents(order: RefundedOrder, refundedEligibleCents: number): number {
  const eligible = BigInt(eligibleTotal(order));
  if (eligible === 0n) return order.earnedCents;
  return Number((BigInt(order.earnedCents) * (eligible - BigInt(refundedEligibleCents))) / eligible);
}
