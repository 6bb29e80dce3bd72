import { after, DAY_MS } from '../common/clock.js';
import type { Policy } from '../merchants/policy.js';

/** Why no more than the maximum can be redeemed; null where nothing but the total limits it. */
export type LimitedBy = 'balance' | 'order_share' | 'minimum_total' | null;

export interface RedeemableMaximum {
  maximumCents: number;
  limitedBy: LimitedBy;
}

/**
 * The most that can be redeemed on an order: the balance, but no more than the policy's share of the
 * total, and nothing on orders under the policy's minimum.
 *
 * @param totalCents the order's total.
 * @param balanceCents what the customer could spend on this order, its own hold included.
 */
export function redeemableMaximum(totalCents: number, balanceCents: number, policy: Policy): RedeemableMaximum {
  if (totalCents < policy.redeemMinimumTotalCents) return { maximumCents: 0, limitedBy: 'minimum_total' };
  const shareCents = Number((BigInt(totalCents) * BigInt(policy.redeemShareBps)) / 10_000n);
  const maximumCents = Math.min(balanceCents, shareCents);
  if (shareCents < balanceCents && shareCents < totalCents) return { maximumCents, limitedBy: 'order_share' };
  return { maximumCents, limitedBy: balanceCents < totalCents ? 'balance' : null };
}

/**
 * The cashback a customer receives for an order: the order's blended rate, on what is really paid.
 * Cashback earns no cashback. What no payment method names earns the policy's plain rate.
 *
 * The products pass 2^53, so they are computed as bigint; there is one division and one floor, at the end.
 *
 * @param order its total and payment methods (together at most the total), and what is redeemed on it.
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

/** The id is the caller's word: `constructor` must not find what every object has. */
function rateOf(paymentMethodId: string, policy: Policy): number {
  const { earnRatesByPaymentMethod: overrides, earnRateBps } = policy;
  return Object.hasOwn(overrides, paymentMethodId) ? (overrides[paymentMethodId] ?? earnRateBps) : earnRateBps;
}

/** Returns when the cashback of an order that is completed at `completedAt` can be spent. */
export function validityOf(policy: Policy, completedAt: Date): { availableAt: Date; expiresAt: Date } {
  const availableAt = after(completedAt, policy.releaseDays * DAY_MS);
  return { availableAt, expiresAt: after(availableAt, policy.validityDays * DAY_MS) };
}

/**
 * What a refund of `amountCents` moves. Each part is the floor of its running total less what earlier
 * refunds moved, so that the last one brings each to exactly the whole, however it was cut.
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
