import type { Policy } from '../merchants/policy.js';
import { formatMoney } from '../platform/values/money.js';
import { type LimitedBy, Problem } from '../platform/values/problem.js';
import { cashbackToReceive, type EarnedCashback, eligibleTotal, type OrderTotals, type PaidOrder } from './earned.js';
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
