import { cashbackToReceive, type PaidOrder, redeemableMaximum, type RedeemableMaximum } from '../cashback/quote.js';
import { type Validity, validityOf } from '../cashback/validity.js';
import type { Order } from './order.entity.js';
import { isOpen, wasCompleted } from './order-status.js';
import type { OrderBalance } from '../cashback/balances.service.js';

/** The cashback that the customer receives for an order. `status` has the values of the API. */
export interface CashbackToReceive {
  amountCents: number;
  reversedCents: number;
  status: 'quoted' | 'pending' | 'available' | 'partially_reversed' | 'reversed';
  /** When it can be spent; null if the order is cancelled. */
  validity: Validity | null;
}

/** Returns how the order was paid or, while it is open, will be paid. */
export function effectivePaymentMethods(order: Order): Order['paymentMethods'] {
  return order.finalPaymentMethods ?? order.paymentMethods;
}

/** Returns the maximum that can be redeemed on an order now: nothing once it is completed or cancelled. */
export function maximumToRedeem(order: Order, { availableCents, heldCents }: OrderBalance): RedeemableMaximum {
  if (!isOpen(order)) return { maximumCents: 0, limitedBy: null };
  return redeemableMaximum(order, availableCents + heldCents, order.policy);
}

/** Returns the centavos that a completed order redeemed. */
export function redeemedCents(order: Order): number {
  return wasCompleted(order) ? order.redemptionCents : 0;
}

/** Returns the cashback that the customer receives for an order: quoted, granted or reversed. */
export function toReceive(order: Order, now: Date): CashbackToReceive {
  if (order.cancelledAt !== null) return { amountCents: 0, reversedCents: 0, status: 'reversed', validity: null };
  const validity = validityOfOrder(order);
  return {
    amountCents: isOpen(order) ? quotedCents(order) : order.earnedCents,
    reversedCents: order.clawedBackCents,
    status: toReceiveStatus(order, validity.availableAt, now),
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

function toReceiveStatus(order: Order, availableAt: Date, now: Date): CashbackToReceive['status'] {
  if (isOpen(order)) return 'quoted';
  if (order.status === 'refunded') return 'reversed';
  if (order.clawedBackCents > 0) return 'partially_reversed';
  return availableAt <= now ? 'available' : 'pending';
}
