import { cashbackToReceive, redeemableMaximum } from '../cashback/quote.js';
import { after, DAY_MS } from '../common/clock.js';
import { formatMoney } from '../common/money.js';
import type { Policy } from '../merchants/policy.js';
import type { OrderDto, ToReceiveDto, ToRedeemDto } from './dto/order.dto.js';
import type { Order } from './order.entity.js';
import { isOpen, statusOf, wasCompleted } from './order-status.js';

/**
 * Builds the answer for an order, member by member.
 *
 * @param availableCents what the order's customer has free to spend at `now`.
 */
export function toOrderDto(order: Order, availableCents: number, now: Date): OrderDto {
  return {
    id: order.id,
    external_id: order.externalId,
    status: statusOf(order, now),
    document: order.document,
    currency: 'BRL',
    total: formatMoney(order.totalCents),
    items: order.items.map(({ id, priceCents, description }) => ({
      id,
      price: formatMoney(priceCents),
      ...(description !== undefined && { description }),
    })),
    payment_methods: effectivePaymentMethods(order).map(({ id, amountCents }) => ({
      id,
      amount: formatMoney(amountCents),
    })),
    cashback: { to_redeem: toRedeem(order, availableCents, now), to_receive: toReceive(order, now) },
    refunded: {
      amount: formatMoney(order.refundedCents),
      amount_to_pay_back: formatMoney(order.refundedCents - order.returnedCents),
    },
    created_at: order.createdAt,
    expires_at: order.expiresAt,
    completed_at: order.completedAt,
    cancelled_at: order.cancelledAt,
  };
}

/** How the order was paid, or as long as it is open, will be. */
export function effectivePaymentMethods(order: Order): Order['paymentMethods'] {
  return order.finalPaymentMethods ?? order.paymentMethods;
}

/** When cashback of an order completed at `completedAt` can be spent. */
export function validityOf(policy: Policy, completedAt: Date): { availableAt: Date; expiresAt: Date } {
  const availableAt = after(completedAt, policy.releaseDays * DAY_MS);
  return { availableAt, expiresAt: after(availableAt, policy.validityDays * DAY_MS) };
}

function toRedeem(order: Order, availableCents: number, now: Date): ToRedeemDto {
  const heldCents = statusOf(order, now) === 'pending' ? order.redemptionCents : 0;
  const { maximumCents, limitedBy } = isOpen(order)
    ? redeemableMaximum(order.totalCents, availableCents + heldCents, order.policy)
    : { maximumCents: 0, limitedBy: null };
  return {
    available: formatMoney(availableCents),
    maximum: formatMoney(maximumCents),
    limited_by: limitedBy,
    held: formatMoney(heldCents),
    redeemed: formatMoney(wasCompleted(order) ? order.redemptionCents : 0),
    returned: formatMoney(order.returnedCents),
  };
}

function toReceive(order: Order, now: Date): ToReceiveDto {
  if (order.cancelledAt !== null) {
    return {
      amount: formatMoney(0),
      reversed: formatMoney(0),
      status: 'reversed',
      available_at: null,
      expires_at: null,
    };
  }
  const { availableAt, expiresAt } = validityOf(order.policy, order.completedAt ?? order.createdAt);
  const amountCents = isOpen(order) ? quotedCents(order) : order.earnedCents;
  return {
    amount: formatMoney(amountCents),
    reversed: formatMoney(order.clawedBackCents),
    status: toReceiveStatus(order, availableAt, now),
    available_at: availableAt,
    expires_at: expiresAt,
  };
}

function quotedCents(order: Order): number {
  const { totalCents, paymentMethods, redemptionCents: redeemedCents } = order;
  return cashbackToReceive({ totalCents, paymentMethods, redeemedCents }, order.policy);
}

function toReceiveStatus(order: Order, availableAt: Date, now: Date): ToReceiveDto['status'] {
  if (isOpen(order)) return 'quoted';
  if (order.status === 'refunded') return 'reversed';
  if (order.clawedBackCents > 0) return 'partially_reversed';
  return availableAt <= now ? 'available' : 'pending';
}
