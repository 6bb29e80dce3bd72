import { isSamePaymentMethod, type Policy } from '../merchants/policy.js';
import type { EarnLimitedBy } from '../platform/values/problem.js';

// The back office computes its examples with this file, so it needs nothing of the server.

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
  /** What it earns if nothing is redeemed, instead of the policy's rates; null if they decide. */
  earnAmountCents: number | null;
}

export const eligibleTotal = ({ totalCents, eligibleTotalCents }: OrderTotals): number =>
  eligibleTotalCents ?? totalCents;

/** What a customer receives for an order. */
export interface EarnedCashback {
  earnedCents: number;
  limitedBy: EarnLimitedBy;
}

/**
 * Returns the cashback that a customer receives for an order: what the order asks to earn, or the blended rate of what
 * is really paid, for the eligible amount that is really paid. Redeemed cashback earns nothing.
 */
export function cashbackToReceive(order: PaidOrder, policy: Policy): EarnedCashback {
  if (order.totalCents < policy.earnMinimumTotalCents) return { earnedCents: 0, limitedBy: 'minimum_total' };
  const { earnMaximumCents } = policy;
  const earnedCents = order.earnAmountCents === null ? byRates(order, policy) : byAmount(order, order.earnAmountCents);
  if (earnMaximumCents === null || earnedCents <= earnMaximumCents) return { earnedCents, limitedBy: null };
  return { earnedCents: earnMaximumCents, limitedBy: 'maximum' };
}

function byAmount(order: PaidOrder, earnAmountCents: number): number {
  const eligible = BigInt(eligibleTotal(order));
  const paid = eligible - BigInt(order.redeemedCents);
  return eligible === 0n || paid <= 0n ? 0 : Number((BigInt(earnAmountCents) * paid) / eligible);
}

/**
 * What neither a payment method nor cashback pays earns the policy's base rate. The products can exceed 2^53, so they
 * are computed as bigint, with a single division and rounding at the end.
 */
function byRates(order: PaidOrder, policy: Policy): number {
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
  const eligible = BigInt(eligibleTotal(order)) - redeemed;
  return paid === 0n || eligible <= 0n ? 0 : Number((eligible * weighted) / (paid * 10_000n));
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
