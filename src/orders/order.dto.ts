import { ApiProperty } from '@nestjs/swagger';
import { type EarnedCashback, rateOf } from '../cashback/earned.js';
import { type RedeemableMaximum, type Spendable } from '../cashback/quote.js';
import { expiresOn, type Validity } from '../cashback/validity.js';
import { type Policy } from '../merchants/policy.js';
import { ByDto, byOf } from '../platform/http/by.dto.js';
import { ApiMetadata } from '../platform/http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../platform/openapi/decorators.js';
import { formatMoney, formatRate } from '../platform/values/money.js';
import {
  EARN_LIMITED_BY,
  type EarnLimitedBy,
  LIMITED_BY,
  type LimitedBy,
  ORDER_OPERATIONS,
  type OrderOperation,
} from '../platform/values/problem.js';
import { type Metadata } from '../platform/values/texts.js';
import { dayOf } from '../platform/values/time.js';
import { type OrderItem, type OrderPaymentMethod } from './order-content.js';
import { operationsOf, ORDER_STATUSES, type OrderStatus } from './order-transitions.js';
import { type Order } from './order.entity.js';

/** An item of the order. */
@InOrder()
export class OrderItemDto {
  /** @example sku-1 */
  readonly id!: string;

  /** @example "150.00" */
  @ApiMoney()
  readonly price!: string;

  /** @example 1 */
  @ApiProperty({ type: 'integer' })
  readonly quantity!: number;

  /** @example Café em grãos */
  readonly description?: string;
}

/** A payment method of the order. Once the order is completed, these are the final ones. */
@InOrder()
export class OrderPaymentMethodDto {
  /** @example credit_card */
  readonly id!: string;

  /** @example "150.00" */
  @ApiMoney()
  readonly amount!: string;

  /** The rate at which this payment method earns cashback: "0.05" is 5 %. Null if the order has an `earn_amount`. */
  @ApiProperty({ type: String, nullable: true, example: '0.05' })
  readonly earn_rate!: string | null;
}

/** The cashback the customer can redeem on the order. */
export class ToRedeemDto {
  /**
   * Cashback that the customer can spend now, excluding amounts held for this and other orders.
   * @example "80.00"
   */
  @ApiMoney()
  readonly available!: string;

  /**
   * Maximum that can be redeemed on this order now, including the amount held for it; "0.00" once the order is
   * completed or cancelled.
   * @example "75.00"
   */
  @ApiMoney()
  readonly maximum!: string;

  /**
   * What limits the maximum; `frozen` if the customer's wallet is. Null if only the total does, or once the order is
   * completed or cancelled.
   */
  @ApiProperty({
    enum: LIMITED_BY,
    enumName: 'LimitedBy',
    nullable: true,
    example: 'order_share',
  })
  readonly limited_by!: LimitedBy;

  /**
   * Amount held for this order.
   * @example "0.00"
   */
  @ApiMoney()
  readonly held!: string;

  /**
   * Amount that an expired order held until it expired; "0.00" otherwise.
   * @example "0.00"
   */
  @ApiMoney()
  readonly lapsed!: string;

  /**
   * Amount redeemed at completion.
   * @example "0.00"
   */
  @ApiMoney()
  readonly redeemed!: string;

  /**
   * Redeemed cashback that refunds have returned to the customer.
   * @example "0.00"
   */
  @ApiMoney()
  readonly returned!: string;
}

/** What became of the cashback of an order (`to_receive.status`). */
export const TO_RECEIVE_STATUSES = [
  'quoted',
  'pending',
  'available',
  'partially_taken_back',
  'taken_back',
  'expired',
  'none',
] as const;

/** The cashback the customer will receive, or has received, for the order. */
export class ToReceiveDto {
  /**
   * Before completion: what the customer will receive if the order is completed in its current state; "0.00" once it
   * expired or was cancelled. After completion: the earned amount.
   * @example "7.50"
   */
  @ApiMoney()
  readonly amount!: string;

  /** What limits the amount: the policy's `earn_minimum_total` or `earn_maximum`; null if neither does. */
  @ApiProperty({ enum: EARN_LIMITED_BY, enumName: 'EarnLimitedBy', nullable: true, example: null })
  readonly limited_by!: EarnLimitedBy;

  /**
   * Part of the amount that refunds have taken back.
   * @example "0.00"
   */
  @ApiMoney()
  readonly taken_back!: string;

  @ApiProperty({
    enum: TO_RECEIVE_STATUSES,
    enumName: 'ToReceiveStatus',
    example: 'quoted',
    description:
      '`quoted` before completion; `none` if the order expired, was cancelled, or earned nothing. Otherwise the first that is true: `taken_back` if refunds took all of it back, `expired` from `expires_at` on, `partially_taken_back` if refunds took a part of it back, `pending` until `available_at`, `available`. It does not say whether the customer has spent it.',
  })
  readonly status!: (typeof TO_RECEIVE_STATUSES)[number];

  /**
   * When it becomes available; before completion, calculated as if the order had been completed at its creation. Null,
   * like the other dates, if the order expired or was cancelled.
   */
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: '2026-11-28T03:00:00.000Z' })
  readonly available_at!: Date | null;

  /** The first day on which it can be spent, in the merchant's time zone. */
  @ApiProperty({ type: String, format: 'date', nullable: true, example: '2026-11-28' })
  readonly available_on!: string | null;

  /** When it expires. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: '2027-05-27T03:00:00.000Z' })
  readonly expires_at!: Date | null;

  /** The last day on which it can be spent, in the merchant's time zone. */
  @ApiProperty({ type: String, format: 'date', nullable: true, example: '2027-05-26' })
  readonly expires_on!: string | null;
}

export class OrderCashbackDto {
  readonly to_redeem!: ToRedeemDto;
  readonly to_receive!: ToReceiveDto;
}

/** The totals of all refunds of the order. */
export class OrderRefundedDto {
  /**
   * Refunded part of the order's total.
   * @example "0.00"
   */
  @ApiMoney()
  readonly amount!: string;

  /**
   * Part of the refunded amount to pay to the customer in money; the rest was returned as cashback.
   * @example "0.00"
   */
  @ApiMoney()
  readonly amount_to_pay_back!: string;
}

/** An order with its cashback. */
@InOrder()
export class OrderDto {
  /**
   * UUID v7.
   * @example 0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10
   */
  @ApiId()
  readonly id!: string;

  /** @example PED-1001 */
  readonly external_id!: string;

  @ApiProperty({ enum: ORDER_STATUSES, enumName: 'OrderStatus', example: 'pending' })
  readonly status!: OrderStatus;

  /**
   * Starts at 1 and increases with each change of the order; the balance of the customer does not change it.
   * @example 1
   */
  @ApiProperty({ type: 'integer', minimum: 1 })
  readonly version!: number;

  /** @example "52998224725" */
  readonly document!: string;

  /** Where the order was made; null if it does not say. */
  @ApiProperty({ type: String, nullable: true, example: 'SP-014' })
  readonly store!: string | null;

  /** @example BRL */
  readonly currency!: string;

  /** @example "150.00" */
  @ApiMoney()
  readonly total!: string;

  /**
   * Part of the total on which cashback is earned and redeemed.
   * @example "150.00"
   */
  @ApiMoney()
  readonly eligible_total!: string;

  /** What the order asks to earn if nothing is redeemed; null if the policy's rates decide. */
  @ApiProperty({ type: String, nullable: true, example: null })
  readonly earn_amount!: string | null;

  /**
   * What the customer pays in money: the total less the cashback that is held or redeemed.
   * @example "150.00"
   */
  @ApiMoney()
  readonly amount_to_pay!: string;

  readonly items!: OrderItemDto[];
  readonly payment_methods!: OrderPaymentMethodDto[];

  /** What you keep with the order; empty by default. */
  @ApiMetadata()
  readonly metadata!: Metadata;

  readonly cashback!: OrderCashbackDto;
  readonly refunded!: OrderRefundedDto;

  /** What can be done with the order now. */
  @ApiProperty({
    enum: ORDER_OPERATIONS,
    enumName: 'OrderOperation',
    isArray: true,
    example: ['hold', 'amend', 'complete', 'cancel'],
  })
  readonly operations!: OrderOperation[];

  /** The campaign whose rules it has; null without one. */
  @ApiProperty({ type: String, format: 'uuid', nullable: true, example: null })
  readonly campaign_id!: string | null;

  /** When it was sold, if the sale in one request said so. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly sold_at!: Date | null;

  /** @example 2026-11-20T13:45:00.000Z */
  readonly created_at!: Date;

  readonly created_by!: ByDto;

  /**
   * When the order last changed.
   * @example 2026-11-20T13:45:00.000Z
   */
  readonly updated_at!: Date;

  /**
   * When the order expires and its hold is released.
   * @example 2026-11-20T14:15:00.000Z
   */
  readonly expires_at!: Date;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly completed_at!: Date | null;

  @ApiProperty({ type: ByDto, nullable: true, example: null })
  readonly completed_by!: ByDto | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly cancelled_at!: Date | null;

  @ApiProperty({ type: ByDto, nullable: true, example: null })
  readonly cancelled_by!: ByDto | null;

  @ApiProperty({ type: String, nullable: true, example: null })
  readonly cancel_reason!: string | null;

  /** When `PUT /orders/{id}/customer` corrected the customer. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly customer_changed_at!: Date | null;

  @ApiProperty({ type: ByDto, nullable: true, example: null })
  readonly customer_changed_by!: ByDto | null;

  /** Null, too, after one of the two customers was erased. */
  @ApiProperty({ type: String, nullable: true, example: null })
  readonly customer_change_reason!: string | null;
}

/**
 * Builds the response for an order. It is a literal, because `present` takes longer, and each creation and completion
 * calls this twice.
 *
 * @param balance what the customer can spend.
 */
export function toOrderDto(order: Order, balance: Spendable, now: Date): OrderDto {
  const { totalCents, heldCents, lapsedCents, redeemedCents, refundedCents, returnedCents } = order;
  const [{ availableCents }, maximum] = [balance, order.maximum(balance)];
  return {
    id: order.id,
    external_id: order.externalId,
    status: order.status,
    version: order.version,
    document: order.document,
    store: order.store,
    currency: 'BRL',
    total: formatMoney(totalCents),
    eligible_total: formatMoney(order.eligibleTotalCents ?? totalCents),
    earn_amount: order.earnAmountCents === null ? null : formatMoney(order.earnAmountCents),
    amount_to_pay: formatMoney(totalCents - heldCents - redeemedCents),
    items: order.items.map(toItemDto),
    payment_methods: toPaymentMethodDtos(order.effectivePaymentMethods, order),
    metadata: order.metadata ?? {},
    cashback: {
      to_redeem: toRedeemDto({ heldCents, lapsedCents, redeemedCents, returnedCents, availableCents, maximum }),
      to_receive: toReceiveDto(receivableOf(order, now), order.policy),
    },
    refunded: { amount: formatMoney(refundedCents), amount_to_pay_back: formatMoney(refundedCents - returnedCents) },
    operations: operationsOf(order),
    campaign_id: order.campaignId,
    sold_at: order.soldAt,
    created_at: order.createdAt,
    created_by: byOf(order.createdBy),
    updated_at: order.updatedAt,
    expires_at: order.expiresAt,
    completed_at: order.completedAt,
    completed_by: byOf(order.completedBy),
    cancelled_at: order.cancelledAt,
    cancelled_by: byOf(order.cancelledBy),
    cancel_reason: order.cancelReason,
    customer_changed_at: order.customerChangedAt,
    customer_changed_by: byOf(order.customerChangedBy),
    customer_change_reason: order.customerChangeReason,
  };
}

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
  const { earned, takenBackCents, isOver, validity } = order;
  return { earned, takenBackCents, status: receiveStatus(order, now), validity: isOver ? null : validity };
}

function receiveStatus(order: Order, now: Date): ToReceiveDto['status'] {
  if (order.status === 'pending') return 'quoted';
  if (order.earnedCents === 0) return 'none';
  if (order.takenBackCents === order.earnedCents) return 'taken_back';
  if (order.validity.expiresAt <= now) return 'expired';
  if (order.takenBackCents > 0) return 'partially_taken_back';
  return order.validity.availableAt <= now ? 'available' : 'pending';
}
