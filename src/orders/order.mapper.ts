import { rateOf } from '../cashback/quote.js';
import { expiresOn, type Validity } from '../cashback/validity.js';
import { walletData } from '../cashback/wallet-events.js';
import type { NewFeedEvent } from '../common/domain-event.js';
import { formatMoney, formatRate } from '../common/money.js';
import type { Config } from '../config/config.js';
import type { Policy } from '../merchants/policy.js';
import type { OrderDto, OrderPaymentMethodDto, ToReceiveDto, ToRedeemDto } from './dto/order.dto.js';
import type { PolicyDto } from './dto/policy.dto.js';
import type { RefundDto } from './dto/refund.dto.js';
import type { Order, OrderChange } from './order.entity.js';
import type { OrderPaymentMethod } from './order-content.js';
import type { Refund } from './refund.entity.js';

/** Builds the response for an order. @param availableCents what the customer can spend, without held amounts. */
export function toOrderDto(order: Order, availableCents: number, now: Date): OrderDto {
  return {
    id: order.id,
    external_id: order.externalId,
    status: order.status,
    version: order.version,
    document: order.document,
    currency: 'BRL',
    total: formatMoney(order.totalCents),
    eligible_total: formatMoney(order.eligibleTotalCents ?? order.totalCents),
    amount_to_pay: formatMoney(order.totalCents - order.heldCents - order.redeemedCents),
    items: order.items.map(({ id, priceCents, description, quantity }) => ({
      id,
      price: formatMoney(priceCents),
      quantity: quantity ?? 1,
      ...(description !== undefined && { description }),
    })),
    payment_methods: toPaymentMethodDtos(order.effectivePaymentMethods, order.policy),
    metadata: order.metadata ?? {},
    cashback: { to_redeem: toRedeemDto(order, availableCents), to_receive: toReceiveDto(order, now) },
    refunded: {
      amount: formatMoney(order.refundedCents),
      amount_to_pay_back: formatMoney(order.refundedCents - order.returnedCents),
    },
    created_at: order.createdAt,
    updated_at: order.updatedAt,
    expires_at: order.expiresAt,
    completed_at: order.completedAt,
    cancelled_at: order.cancelledAt,
  };
}

export function toPaymentMethodDtos(methods: readonly OrderPaymentMethod[], policy: Policy): OrderPaymentMethodDto[] {
  return methods.map(({ id, amountCents }) => {
    return { id, amount: formatMoney(amountCents), earn_rate: formatRate(rateOf(id, policy)) };
  });
}

function toRedeemDto(order: Order, availableCents: number): ToRedeemDto {
  const { maximumCents, limitedBy } = order.maximum(availableCents);
  return {
    available: formatMoney(availableCents),
    maximum: formatMoney(maximumCents),
    limited_by: limitedBy,
    held: formatMoney(order.heldCents),
    lapsed: formatMoney(order.lapsedCents),
    redeemed: formatMoney(order.redeemedCents),
    returned: formatMoney(order.returnedCents),
  };
}

function toReceiveDto(order: Order, now: Date): ToReceiveDto {
  const isCancelled = order.cancelledAt !== null;
  return {
    amount: formatMoney(isCancelled ? 0 : order.receivedCents),
    taken_back: formatMoney(order.takenBackCents),
    status: receiveStatus(order, now),
    ...toValidityDto(isCancelled ? null : order.validity, order.policy),
  };
}

function receiveStatus(order: Order, now: Date): ToReceiveDto['status'] {
  if (order.isOpen) return 'quoted';
  if (order.earnedCents === 0) return 'none';
  if (order.takenBackCents === order.earnedCents) return 'taken_back';
  if (order.validity.expiresAt <= now) return 'expired';
  if (order.takenBackCents > 0) return 'partially_taken_back';
  return order.validity.availableAt <= now ? 'available' : 'pending';
}

/** @param validity null if nothing will be received. */
export function toValidityDto(
  validity: Validity | null,
  { timeZone }: Policy,
): Pick<ToReceiveDto, 'available_at' | 'expires_at' | 'expires_on'> {
  if (validity === null) return { available_at: null, expires_at: null, expires_on: null };
  const { availableAt, expiresAt } = validity;
  return { available_at: availableAt, expires_at: expiresAt, expires_on: expiresOn(expiresAt, timeZone) };
}

/** An order in an event. The items are many, and only an amendment changes them. */
interface OrderData extends Omit<OrderDto, 'document' | 'items' | 'metadata'> {
  metadata: Record<string, never>;
  document?: never;
  items?: never;
}

declare module '../common/domain-event.js' {
  interface FeedEventDetails extends Record<Exclude<OrderEventType, 'order.refunded'>, { order: OrderData }> {
    'order.refunded': { order: OrderData; refund: RefundDto };
  }
}

/** Builds the event of a change. */
export function orderEvent({ type, order, wallet: sums, refund }: OrderChange): NewFeedEvent {
  const { merchantId, id: subjectId, updatedAt: occurredAt } = order;
  const { document: _, items: _items, ...shown } = toOrderDto(order, sums.availableCents, occurredAt);
  const about = { merchantId, subjectId, occurredAt };
  const data = { order: { ...shown, metadata: {} } };
  const wallet = walletData(sums);
  return type === 'order.refunded'
    ? { type, ...about, data: { ...data, refund: toRefundDto(refund), wallet } }
    : { type, ...about, data: { ...data, wallet } };
}

export function toRefundDto(refund: Refund): RefundDto {
  return {
    id: refund.id,
    external_id: refund.externalId,
    order_id: refund.orderId,
    amount: formatMoney(refund.amountCents),
    eligible_amount: formatMoney(refund.eligibleCents),
    cashback_returned: formatMoney(refund.returnedCents),
    cashback_taken_back: formatMoney(refund.takenBackCents),
    amount_to_pay_back: formatMoney(refund.amountCents - refund.returnedCents),
    created_at: refund.createdAt,
  };
}

/** Builds the response for a policy, with the setting that is the same for all merchants. */
export function toPolicyDto(policy: Policy, { DOCUMENT_CHECK_DIGITS }: Config): PolicyDto {
  const overrides = Object.entries(policy.earnRatesByPaymentMethod).map(([id, bps]) => [id, formatRate(bps)] as const);
  return {
    earn_rate: formatRate(policy.earnRateBps),
    earn_rates_by_payment_method: Object.fromEntries(overrides),
    redeem_share: formatRate(policy.redeemShareBps),
    redeem_minimum_total: formatMoney(policy.redeemMinimumTotalCents),
    release_days: policy.releaseDays,
    validity_days: policy.validityDays,
    order_ttl_minutes: policy.orderTtlMinutes,
    max_order_ttl_minutes: policy.maxOrderTtlMinutes,
    grant_maximum: formatMoney(policy.grantMaximumCents),
    time_zone: policy.timeZone,
    document_check_digits: DOCUMENT_CHECK_DIGITS,
  };
}
