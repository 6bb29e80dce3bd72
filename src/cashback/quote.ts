import type { LimitedBy } from '../common/problem.js';
import { isSamePaymentMethod, type Policy } from '../merchants/policy.js';
import { type Validity, validityOf } from './validity.js';

export interface RedeemableMaximum {
  maximumCents: number;
  limitedBy: LimitedBy;
}

/** What an order is worth, in centavos. */
export interface OrderTotals {
  totalCents: number;
  /** The part of the total on which cashback is earned and redeemed; null if that is the whole total. */
  eligibleTotalCents: number | null;
}

/** What a quote of the cashback to receive depends on. */
export interface PaidOrder extends OrderTotals {
  /** They add up to at most the total. */
  paymentMethods: readonly { id: string; amountCents: number }[];
  redeemedCents: number;
}

/**
 * Returns the maximum that can be redeemed on an order: the balance, but no more than the policy's share of the
 * eligible total, and nothing on orders below the policy's minimum.
 *
 * @param balanceCents what the customer could spend on this order, including its own hold.
 */
export function redeemableMaximum(order: OrderTotals, balanceCents: number, policy: Policy): RedeemableMaximum {
  const { totalCents, eligibleTotalCents } = order;
  if (totalCents < policy.redeemMinimumTotalCents) return { maximumCents: 0, limitedBy: 'minimum_total' };
  const shareCents = Number((BigInt(eligibleTotalCents ?? totalCents) * BigInt(policy.redeemShareBps)) / 10_000n);
  const maximumCents = Math.min(balanceCents, shareCents);
  if (shareCents < balanceCents && shareCents < totalCents) return { maximumCents, limitedBy: 'order_share' };
  return { maximumCents, limitedBy: balanceCents < totalCents ? 'balance' : null };
}

/**
 * Returns the cashback that a customer receives for an order: the blended rate of what is really paid, applied to the
 * eligible amount that is really paid. Redeemed cashback earns nothing. What neither a payment method nor cashback pays
 * earns the policy's base rate.
 *
 * The products can exceed 2^53, so they are computed as bigint, with a single division and rounding at the end.
 *
 * @returns centavos.
 */
export function cashbackToReceive(order: PaidOrder, policy: Policy): number {
  const redeemed = BigInt(order.redeemedCents);
  let paid = 0n;
  let weighted = 0n;
  for (const { id, amountCents } of order.paymentMethods) {
    paid += BigInt(amountCents);
    weighted += BigInt(amountCents) * BigInt(rateOf(id, policy));
  }
  const unnamed = BigInt(order.totalCents) - paid - redeemed;
  if (unnamed > 0n) {
    paid += unnamed;
    weighted += unnamed * BigInt(policy.earnRateBps);
  }
  const eligible = BigInt(order.eligibleTotalCents ?? order.totalCents) - redeemed;
  return paid === 0n || eligible <= 0n ? 0 : Number((eligible * weighted) / (paid * 10_000n));
}

/** What a customer can redeem on an order, and will receive for it. */
export interface Quote {
  maximum: RedeemableMaximum;
  earnedCents: number;
  validity: Validity;
}

/**
 * Quotes an order that is completed at an instant.
 *
 * @param balanceCents what the customer could spend on it, including what it redeems.
 */
export function quote(order: PaidOrder, policy: Policy, balanceCents: number, completedAt: Date): Quote {
  return {
    maximum: redeemableMaximum(order, balanceCents, policy),
    earnedCents: cashbackToReceive(order, policy),
    validity: validityOf(policy, completedAt),
  };
}

/**
 * Returns the earn rate of a payment method in basis points. An override with the exact ID comes first, then one that
 * is equal ignoring ASCII case. The caller chooses the ID, so an ID such as `constructor` must not find an inherited
 * property.
 */
export function rateOf(paymentMethodId: string, policy: Policy): number {
  const { earnRatesByPaymentMethod: overrides, earnRateBps } = policy;
  if (Object.hasOwn(overrides, paymentMethodId)) return overrides[paymentMethodId] ?? earnRateBps;
  const found = Object.entries(overrides).find(([id]) => isSamePaymentMethod(id, paymentMethodId));
  return found?.[1] ?? earnRateBps;
}
