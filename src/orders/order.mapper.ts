import type { WhoIs } from '../auth/user-names.service.js';
import { type EarnedCashback, rateOf, type RedeemableMaximum } from '../cashback/quote.js';
import { expiresOn, type Validity } from '../cashback/validity.js';
import { dayOf } from '../common/calendar-days.js';
import type { By } from '../common/caller.js';
import { formatMoney, formatRate } from '../common/money.js';
import type { Config } from '../config/config.js';
import type { Policy } from '../merchants/policy.js';
import type { DatedVersion } from '../merchants/policy-version.entity.js';
import type { OrderDto, OrderItemDto, OrderPaymentMethodDto, ToReceiveDto, ToRedeemDto } from './dto/order.dto.js';
import type { PolicyDto, UpcomingPolicyDto } from './dto/policy.dto.js';
import type { RefundDto } from './dto/refund.dto.js';
import type { Order } from './order.entity.js';
import type { OrderItem, OrderPaymentMethod } from './order-content.js';
import { operationsOf } from './order-transitions.js';
import type { Refund } from './refund.entity.js';

/** Who made the changes that an order shows. */
export const authorsOf = ({ createdBy, completedBy, cancelledBy, customerChangedBy }: Order): By[] => [
  createdBy,
  completedBy,
  cancelledBy,
  customerChangedBy,
];

/** Builds the response for an order. @param availableCents what the customer can spend, without held amounts. */
export function toOrderDto(order: Order, availableCents: number, now: Date, whoIs: WhoIs): OrderDto {
  const { heldCents, lapsedCents, redeemedCents, returnedCents } = order;
  const maximum = order.maximum(availableCents);
  return {
    id: order.id,
    external_id: order.externalId,
    status: order.status,
    version: order.version,
    document: order.document,
    store: order.store,
    currency: 'BRL',
    total: formatMoney(order.totalCents),
    eligible_total: formatMoney(order.eligibleTotalCents ?? order.totalCents),
    earn_amount: formatOptional(order.earnAmountCents),
    amount_to_pay: formatMoney(order.totalCents - heldCents - redeemedCents),
    items: order.items.map(toItemDto),
    payment_methods: toPaymentMethodDtos(order.effectivePaymentMethods, order),
    metadata: order.metadata ?? {},
    cashback: {
      to_redeem: toRedeemDto({ heldCents, lapsedCents, redeemedCents, returnedCents, availableCents, maximum }),
      to_receive: toReceiveDto(receivableOf(order, now), order.policy),
    },
    refunded: {
      amount: formatMoney(order.refundedCents),
      amount_to_pay_back: formatMoney(order.refundedCents - returnedCents),
    },
    operations: operationsOf(order),
    created_at: order.createdAt,
    created_by: whoIs(order.createdBy)!,
    updated_at: order.updatedAt,
    expires_at: order.expiresAt,
    ...endsOf(order, whoIs),
  };
}

/** When, by whom and why it was completed and cancelled, and its customer corrected. */
const endsOf = (order: Order, whoIs: WhoIs) => ({
  completed_at: order.completedAt,
  completed_by: whoIs(order.completedBy),
  cancelled_at: order.cancelledAt,
  cancelled_by: whoIs(order.cancelledBy),
  cancel_reason: order.cancelReason,
  customer_changed_at: order.customerChangedAt,
  customer_changed_by: whoIs(order.customerChangedBy),
  customer_change_reason: order.customerChangeReason,
});

export function toItemDto({ id, priceCents, description, quantity }: OrderItem): OrderItemDto {
  const price = formatMoney(priceCents);
  return { id, price, quantity: quantity ?? 1, ...(description !== undefined && { description }) };
}

/** @param order what decides the rates. */
export function toPaymentMethodDtos(
  methods: readonly OrderPaymentMethod[],
  { earnAmountCents, policy }: Pick<Order, 'earnAmountCents' | 'policy'>,
): OrderPaymentMethodDto[] {
  return methods.map(({ id, amountCents }) => {
    const earn_rate = earnAmountCents === null ? formatRate(rateOf(id, policy)) : null;
    return { id, amount: formatMoney(amountCents), earn_rate };
  });
}

const formatOptional = (cents: number | null): string | null => (cents === null ? null : formatMoney(cents));

/** What can be, is and was redeemed on an order, in centavos. */
interface Redeemable extends Partial<Pick<Order, 'lapsedCents' | 'redeemedCents' | 'returnedCents'>> {
  availableCents: number;
  maximum: RedeemableMaximum;
  heldCents: number;
}

export function toRedeemDto(amounts: Redeemable): ToRedeemDto {
  const { availableCents, maximum, heldCents, lapsedCents = 0, redeemedCents = 0, returnedCents = 0 } = amounts;
  return {
    available: formatMoney(availableCents),
    maximum: formatMoney(maximum.maximumCents),
    limited_by: maximum.limitedBy,
    held: formatMoney(heldCents),
    lapsed: formatMoney(lapsedCents),
    redeemed: formatMoney(redeemedCents),
    returned: formatMoney(returnedCents),
  };
}

/** What will be or was received for an order, in centavos. */
interface Receivable {
  earned: EarnedCashback;
  takenBackCents: number;
  status: ToReceiveDto['status'];
  /** Null if nothing will be received. */
  validity: Validity | null;
}

export function toReceiveDto(receivable: Receivable, { timeZone }: Policy): ToReceiveDto {
  const { earned, takenBackCents, status, validity } = receivable;
  return {
    amount: formatMoney(earned.earnedCents),
    limited_by: earned.limitedBy,
    taken_back: formatMoney(takenBackCents),
    status,
    available_at: validity?.availableAt ?? null,
    available_on: validity === null ? null : dayOf(validity.availableAt, timeZone),
    expires_at: validity?.expiresAt ?? null,
    expires_on: validity === null ? null : expiresOn(validity.expiresAt, timeZone),
  };
}

function receivableOf(order: Order, now: Date): Receivable {
  const { earned, takenBackCents, cancelledAt } = order;
  return { earned, takenBackCents, status: receiveStatus(order, now), validity: cancelledAt ? null : order.validity };
}

function receiveStatus(order: Order, now: Date): ToReceiveDto['status'] {
  if (order.isOpen) return 'quoted';
  if (order.earnedCents === 0) return 'none';
  if (order.takenBackCents === order.earnedCents) return 'taken_back';
  if (order.validity.expiresAt <= now) return 'expired';
  if (order.takenBackCents > 0) return 'partially_taken_back';
  return order.validity.availableAt <= now ? 'available' : 'pending';
}

/** @param orderExternalId the merchant's own ID of the order. */
export function toRefundDto(refund: Refund, orderExternalId: string, whoIs: WhoIs): RefundDto {
  return {
    id: refund.id,
    external_id: refund.externalId,
    order_id: refund.orderId,
    order_external_id: orderExternalId,
    amount: formatMoney(refund.amountCents),
    eligible_amount: formatMoney(refund.eligibleCents),
    items: refund.returned?.items ?? [],
    rest: refund.returned?.rest ?? false,
    cashback_returned: formatMoney(refund.returnedCents),
    cashback_taken_back: formatMoney(refund.takenBackCents),
    amount_to_pay_back: formatMoney(refund.amountCents - refund.returnedCents),
    reason: refund.reason,
    store: refund.store,
    metadata: refund.metadata ?? {},
    created_at: refund.createdAt,
    created_by: whoIs(refund.createdBy)!,
  };
}

/** Builds the response for rules of days to come: only what is different. */
export function toUpcomingDto(version: DatedVersion, policy: Policy, config: Config): UpcomingPolicyDto {
  const members = Object.keys(version.changes).map((name) =>
    name.replace(/(Bps|Cents)$/, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  const rules = Object.entries(toPolicyDto({ ...policy, ...version.changes }, config));
  return {
    from: version.fromDay,
    through: version.throughDay,
    begins_at: version.beginsAt,
    changes: Object.fromEntries(rules.filter(([name]) => members.includes(name))),
  };
}

/** Builds the response for a policy, with the setting that is the same for all merchants. */
export function toPolicyDto(policy: Policy, { DOCUMENT_CHECK_DIGITS }: Config): PolicyDto {
  const overrides = Object.entries(policy.earnRatesByPaymentMethod).map(([id, bps]) => [id, formatRate(bps)] as const);
  return {
    earn_rate: formatRate(policy.earnRateBps),
    earn_rates_by_payment_method: Object.fromEntries(overrides),
    earn_minimum_total: formatMoney(policy.earnMinimumTotalCents),
    earn_maximum: formatOptional(policy.earnMaximumCents),
    earn_rate_maximum: policy.earnRateMaximumBps === null ? null : formatRate(policy.earnRateMaximumBps),
    redeem_share: formatRate(policy.redeemShareBps),
    redeem_minimum_total: formatMoney(policy.redeemMinimumTotalCents),
    redeem_minimum: formatMoney(policy.redeemMinimumCents),
    release_days: policy.releaseDays,
    validity_days: policy.validityDays,
    order_ttl_minutes: policy.orderTtlMinutes,
    max_order_ttl_minutes: policy.maxOrderTtlMinutes,
    grant_maximum: formatMoney(policy.grantMaximumCents),
    grant_daily_maximum: formatMoney(policy.grantDailyMaximumCents),
    time_zone: policy.timeZone,
    document_check_digits: DOCUMENT_CHECK_DIGITS,
  };
}
