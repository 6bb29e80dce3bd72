import { ByDto } from '../../auth/dto/by.dto.js';
import type { Metadata } from '../../common/metadata.js';
import {
  EARN_LIMITED_BY,
  type EarnLimitedBy,
  LIMITED_BY,
  type LimitedBy,
  ORDER_OPERATIONS,
  type OrderOperation,
} from '../../common/problem.js';
import { ORDER_STATUSES, type OrderStatus } from '../order-transitions.js';
import { ApiMetadata } from '../../http/validators.js';
import { ApiProperty } from '@nestjs/swagger';
import { ApiId, ApiMoney, InOrder } from '../../openapi/decorators.js';

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

  /** What limits the maximum; null if only the total does, or once the order is completed or cancelled. */
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
   * Before completion: what the customer will receive if the order is completed in its current state. After completion:
   * the earned amount.
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
      '`quoted` before completion; `none` if the order was cancelled or earned nothing. Otherwise the first that is true: `taken_back` if refunds took all of it back, `expired` from `expires_at` on, `partially_taken_back` if refunds took a part of it back, `pending` until `available_at`, `available`. It does not say whether the customer has spent it.',
  })
  readonly status!: (typeof TO_RECEIVE_STATUSES)[number];

  /**
   * When it becomes available; before completion, calculated as if the order had been completed at its creation. Null,
   * like the other dates, if the order was cancelled.
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
