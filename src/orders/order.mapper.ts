import { rateOf } from '../cashback/quote.js';
import { expiresOn } from '../cashback/validity.js';
import { formatMoney, formatRate } from '../common/money.js';
import type { Config } from '../config/config.js';
import type { Policy } from '../merchants/policy.js';
import type { OrderDto, ToReceiveDto, ToRedeemDto } from './dto/order.dto.js';
import type { PolicyDto } from './dto/policy.dto.js';
import type { RefundDto } from './dto/refund.dto.js';
import type { Order } from './order.entity.js';
import { effectivePaymentMethods, heldCents, maximumToRedeem, redeemedCents, toReceive } from './order-cashback.js';
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
    amount_to_pay: formatMoney(order.totalCents - heldCents(order) - redeemedCents(order)),
    items: order.items.map(({ id, priceCents, description, quantity }) => ({
      id,
      price: formatMoney(priceCents),
      quantity: quantity ?? 1,
      ...(description !== undefined && { description }),
    })),
    payment_methods: effectivePaymentMethods(order).map(({ id, amountCents }) => ({
      id,
      amount: formatMoney(amountCents),
      earn_rate: formatRate(rateOf(id, order.policy)),
    })),
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

function toRedeemDto(order: Order, availableCents: number): ToRedeemDto {
  const { maximumCents, limitedBy } = maximumToRedeem(order, availableCents);
  return {
    available: formatMoney(availableCents),
    maximum: formatMoney(maximumCents),
    limited_by: limitedBy,
    held: formatMoney(heldCents(order)),
    lapsed: formatMoney(order.lapsedCents),
    redeemed: formatMoney(redeemedCents(order)),
    returned: formatMoney(order.returnedCents),
  };
}

function toReceiveDto(order: Order, now: Date): ToReceiveDto {
  const { amountCents, takenBackCents, status, validity } = toReceive(order, now);
  return {
    amount: formatMoney(amountCents),
    taken_back: formatMoney(takenBackCents),
    status,
    available_at: validity?.availableAt ?? null,
    expires_at: validity?.expiresAt ?? null,
    expires_on: validity === null ? null : expiresOn(validity.expiresAt, order.policy.timeZone),
  };
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
