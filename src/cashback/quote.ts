import { isSamePaymentMethod, type Policy } from '../merchants/policy.js';
import { formatMoney } from '../platform/values/money.js';
import { type EarnLimitedBy, type LimitedBy, Problem } from '../platform/values/problem.js';
import { type Validity, validityOf } from './validity.js';

/** What a customer can spend. */
export interface Spendable {
  /** Without held amounts, in centavos. */
  availableCents: number;
  /** Whether orders can only redeem what they hold already. */
  isFrozen: boolean;
}

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
  /** What it earns if nothing is redeemed, instead of the policy's rates; null if they decide. */
  earnAmountCents: number | null;
}

export const eligibleTotal = ({ totalCents, eligibleTotalCents }: OrderTotals): number =>
  eligibleTotalCents ?? totalCents;

/** Returns a share of an amount, in centavos, rounded down. The product can exceed 2^53. */
export const shareOf = (cents: number, bps: number): number => Number((BigInt(cents) * BigInt(bps)) / 10_000n);

/**
 * Returns the maximum that can be redeemed on an order: the balance, but no more than the policy's share of the
 * eligible total. It is 0 below the policy's minimum total, and where it would be less than its least redemption.
 *
 * @param balance what the customer can spend, and what the order holds; null if that is not known, and limits nothing.
 */
export function redeemableMaximum(
  order: OrderTotals,
  balance: (Spendable & { heldCents: number }) | null,
  policy: Policy,
): RedeemableMaximum {
  const { totalCents } = order;
  const balanceCents = balance === null ? totalCents : balance.availableCents + balance.heldCents;
  if (totalCents < policy.redeemMinimumTotalCents) return { maximumCents: 0, limitedBy: 'minimum_total' };
  const shareCents = shareOf(eligibleTotal(order), policy.redeemShareBps);
  if (balance?.isFrozen && balance.heldCents <= shareCents)
    return { maximumCents: balance.heldCents, limitedBy: 'frozen' };
  const maximumCents = Math.min(balanceCents, shareCents);
  if (maximumCents < policy.redeemMinimumCents) return { maximumCents: 0, limitedBy: 'redeem_minimum' };
  if (shareCents < balanceCents && shareCents < totalCents) return { maximumCents, limitedBy: 'order_share' };
  return { maximumCents, limitedBy: balanceCents < totalCents ? 'balance' : null };
}

/**
 * @param pointer the member that has the amount.
 * @throws Problem redemption_below_minimum if less is redeemed than the least that can be redeemed at once.
 */
export function refuseBelowMinimum({ redeemMinimumCents }: Policy, redeemedCents: number, pointer: string): void {
  if (redeemedCents === 0 || redeemedCents >= redeemMinimumCents) return;
  const minimum = formatMoney(redeemMinimumCents);
  const errors = [{ pointer, detail: `must be "0.00" or at least ${minimum}` }];
  throw new Problem('redemption_below_minimum', { minimum, errors });
}

/**
 * @param pointer the member that has the amount; undefined if the request has none.
 * @throws Problem redemption_exceeds_maximum.
 */
export function refuseAboveMaximum(
  { maximumCents, limitedBy: limited_by }: RedeemableMaximum,
  amountCents: number,
  pointer?: string,
): void {
  if (amountCents <= maximumCents) return;
  const maximum = formatMoney(maximumCents);
  const errors = pointer === undefined ? undefined : [{ pointer, detail: `must be at most ${maximum}` }];
  throw new Problem('redemption_exceeds_maximum', { maximum, limited_by, errors });
}

/** Returns a refusal if an order asks to earn more than the policy allows; undefined if it does not. */
export function earnAmountProblem(
  order: OrderTotals & Pick<PaidOrder, 'earnAmountCents'>,
  { earnRateMaximumBps }: Policy,
): Problem | undefined {
  const maximumCents = shareOf(eligibleTotal(order), earnRateMaximumBps ?? 0);
  if (order.earnAmountCents === null || order.earnAmountCents <= maximumCents) return undefined;
  const maximum = formatMoney(maximumCents);
  const detail = earnRateMaximumBps === null ? 'the policy has no earn_rate_maximum: leave out earn_amount' : undefined;
  const errors = [{ pointer: '/earn_amount', detail: `must be at most ${maximum}` }];
  return new Problem('earn_amount_exceeds_maximum', { maximum, errors, ...(detail !== undefined && { detail }) });
}

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

/** What a customer can redeem on an order, and will receive for it. */
export interface Quote {
  maximum: RedeemableMaximum;
  earned: EarnedCashback;
  validity: Validity;
}

/**
 * Quotes an order that is completed at an instant.
 *
 * @param balance what the customer can spend; null without a customer.
 * @param soldAt when it was sold, if the sale arrived late.
 */
export function quote(
  order: PaidOrder,
  policy: Policy,
  balance: Spendable | null,
  completedAt: Date,
  soldAt?: Date,
): Quote {
  return {
    maximum: redeemableMaximum(order, balance && { ...balance, heldCents: 0 }, policy),
    earned: cashbackToReceive(order, policy),
    validity: validityOf(policy, completedAt, soldAt),
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
