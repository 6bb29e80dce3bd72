import { after, DAY_MS } from '../common/clock.js';
import type { Policy } from '../merchants/policy.js';

/** What limits the maximum; null if only the total does. */
export type LimitedBy = 'balance' | 'order_share' | 'minimum_total' | null;

export interface RedeemableMaximum {
  maximumCents: number;
  limitedBy: LimitedBy;
}

/**
 * Returns the maximum that can be redeemed on an order: the balance, but no more than the policy's share of the total,
 * and nothing on orders below the policy's minimum.
 *
 * @param totalCents the order's total.
 * @param balanceCents what the customer could spend on this order, including its own hold.
 */
export function redeemableMaximum(totalCents: number, balanceCents: number, policy: Policy): RedeemableMaximum {
  if (totalCents < policy.redeemMinimumTotalCents) return { maximumCents: 0, limitedBy: 'minimum_total' };
  const shareCents = Number((BigInt(totalCents) * BigInt(policy.redeemShareBps)) / 10_000n);
  const maximumCents = Math.min(balanceCents, shareCents);
  if (shareCents < balanceCents && shareCents < totalCents) return { maximumCents, limitedBy: 'order_share' };
  return { maximumCents, limitedBy: balanceCents < totalCents ? 'balance' : null };
}

/**
 * Returns the cashback that a customer receives for an order: the order's blended rate, applied to the amount that is
 * paid in money. Redeemed cashback earns nothing. The part of the total without a payment method earns the policy's
 * base rate.
 *
 * The products can exceed 2^53, so they are computed as bigint, with a single division and rounding at the end.
 *
 * @param order its total, its payment methods (which add up to at most the total), and the redeemed amount.
 * @returns centavos.
 */
export function cashbackToReceive(
  order: { totalCents: number; paymentMethods: readonly { id: string; amountCents: number }[]; redeemedCents: number },
  policy: Policy,
): number {
  const total = BigInt(order.totalCents);
  let unnamed = total;
  let weighted = 0n;
  for (const { id, amountCents } of order.paymentMethods) {
    unnamed -= BigInt(amountCents);
    weighted += BigInt(amountCents) * BigInt(rateOf(id, policy));
  }
  weighted += unnamed * BigInt(policy.earnRateBps);
  return Number(((total - BigInt(order.redeemedCents)) * weighted) / (total * 10_000n));
}

/** The caller chooses the ID, so an ID such as `constructor` must not find an inherited property. */
function rateOf(paymentMethodId: string, policy: Policy): number {
  const { earnRatesByPaymentMethod: overrides, earnRateBps } = policy;
  return Object.hasOwn(overrides, paymentMethodId) ? (overrides[paymentMethodId] ?? earnRateBps) : earnRateBps;
}

/** Returns when the cashback of an order completed at `completedAt` becomes available and when it expires. */
export function validityOf(policy: Policy, completedAt: Date): { availableAt: Date; expiresAt: Date } {
  const availableAt = after(completedAt, policy.releaseDays * DAY_MS);
  return { availableAt, expiresAt: after(availableAt, policy.validityDays * DAY_MS) };
}

/**
 * Returns the cashback that a refund of `amountCents` moves. Each part is the rounded-down running total minus the
 * amount that earlier refunds moved, so that the refunds of a whole order add up exactly, however it is split.
 */
export function refundParts(
  order: {
    totalCents: number;
    redeemedCents: number;
    earnedCents: number;
    refundedCents: number;
    returnedCents: number;
    clawedBackCents: number;
  },
  amountCents: number,
): { returnedCents: number; clawedBackCents: number; toPayBackCents: number } {
  const total = BigInt(order.totalCents);
  const after = BigInt(order.refundedCents + amountCents);
  const returnedCents = Number((BigInt(order.redeemedCents) * after) / total) - order.returnedCents;
  const keptCents = Number((BigInt(order.earnedCents) * (total - after)) / total);
  const clawedBackCents = order.earnedCents - keptCents - order.clawedBackCents;
  return { returnedCents, clawedBackCents, toPayBackCents: amountCents - returnedCents };
}
