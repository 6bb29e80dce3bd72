import { cashbackToReceive, type PaidOrder, redeemableMaximum, type RedeemableMaximum } from '../cashback/quote.js';
import { type Validity, validityOf } from '../cashback/validity.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { formatMoney } from '../common/money.js';
import { Problem } from '../common/problem.js';
import type { ToReceiveDto } from './dto/order.dto.js';
import type { Order } from './order.entity.js';
import { isOpen, wasCompleted } from './order-status.js';

/** The cashback that the customer receives for an order. */
export interface CashbackToReceive {
  amountCents: number;
  takenBackCents: number;
  status: ToReceiveDto['status'];
  /** When it can be spent; null if the order is cancelled. */
  validity: Validity | null;
}

/** Returns how the order was paid or, while it is open, will be paid. */
export function effectivePaymentMethods(order: Order): Order['paymentMethods'] {
  return order.finalPaymentMethods ?? order.paymentMethods;
}

/**
 * Returns the maximum that can be redeemed on an order now: nothing once it is completed or cancelled.
 *
 * @param availableCents what the customer can spend, without held amounts.
 */
export function maximumToRedeem(order: Order, availableCents: number): RedeemableMaximum {
  if (!isOpen(order)) return { maximumCents: 0, limitedBy: null };
  return redeemableMaximum(order, availableCents + heldCents(order), order.policy);
}

export function heldCents(order: Pick<Order, 'status' | 'redemptionCents'>): number {
  return order.status === 'pending' ? order.redemptionCents : 0;
}

export function redeemedCents(order: Order): number {
  return wasCompleted(order) ? order.redemptionCents : 0;
}

/** Returns the cashback that the customer receives for an order: quoted, granted or taken back. */
export function toReceive(order: Order, now: Date): CashbackToReceive {
  if (order.cancelledAt !== null) return { amountCents: 0, takenBackCents: 0, status: 'none', validity: null };
  const validity = validityOfOrder(order);
  return {
    amountCents: isOpen(order) ? quotedCents(order) : order.earnedCents,
    takenBackCents: order.takenBackCents,
    status: toReceiveStatus(order, validity, now),
    validity,
  };
}

function quotedCents(order: Order): number {
  return cashbackToReceive({ ...totalsOf(order), redeemedCents: order.redemptionCents }, order.policy);
}

/** Returns the part of an order that its quote depends on, without the redemption. */
export function totalsOf(order: Order): Omit<PaidOrder, 'redeemedCents'> {
  const { totalCents, eligibleTotalCents } = order;
  return { totalCents, eligibleTotalCents, paymentMethods: effectivePaymentMethods(order) };
}

/**
 * Returns when the cashback can be spent. An open order has the dates of an order that is completed at its creation.
 */
function validityOfOrder({ policy, createdAt, cashbackAvailableAt, cashbackExpiresAt }: Order): Validity {
  return cashbackAvailableAt === null || cashbackExpiresAt === null
    ? validityOf(policy, createdAt)
    : { availableAt: cashbackAvailableAt, expiresAt: cashbackExpiresAt };
}

function toReceiveStatus(order: Order, validity: Validity, now: Date): CashbackToReceive['status'] {
  if (isOpen(order)) return 'quoted';
  if (order.earnedCents === 0) return 'none';
  if (order.takenBackCents === order.earnedCents) return 'taken_back';
  if (validity.expiresAt <= now) return 'expired';
  if (order.takenBackCents > 0) return 'partially_taken_back';
  return validity.availableAt <= now ? 'available' : 'pending';
}

/**
 * @param pointer the member that has the amount; undefined if the request has none.
 * @param advice the end of the explanation.
 * @throws Problem redemption_exceeds_maximum or redemption_no_longer_available, with the maximum.
 */
export function refuseOverMaximum(
  order: Order,
  { availableCents }: Pick<WalletAggregate, 'availableCents'>,
  amountCents: number,
  pointer?: string,
  advice = '',
): void {
  const { maximumCents, limitedBy } = maximumToRedeem(order, availableCents);
  if (amountCents <= maximumCents) return;
  const maximum = formatMoney(maximumCents);
  // The hold lapsed and another order used the balance. Before that, a smaller amount would not have been refused.
  const isLate = order.status === 'expired' && limitedBy === 'balance';
  throw new Problem(isLate ? 'redemption_no_longer_available' : 'redemption_exceeds_maximum', {
    detail: `at most ${maximum} can be redeemed on this order now${advice}`,
    ...(pointer !== undefined && { errors: [{ pointer, detail: `must be at most ${maximum}` }] }),
    extensions: { maximum, limited_by: limitedBy },
  });
}

/** @throws Problem redemption_lapsed if it is not known whether the customer still counts on what the order held. */
export function refuseLapsed(order: Order, availableCents: number): void {
  if (order.lapsedCents === 0) return;
  const lapsed = formatMoney(order.lapsedCents);
  const maximum = formatMoney(maximumToRedeem(order, availableCents).maximumCents);
  throw new Problem('redemption_lapsed', {
    detail: `the order held ${lapsed}, which was released when the order expired: send redeem "${lapsed}" if the customer was charged less, or "0.00" if not`,
    extensions: { lapsed, maximum },
  });
}
