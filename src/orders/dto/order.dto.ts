import { type LimitedBy } from '../../cashback/quote.js';
import { ORDER_STATUSES, type OrderStatus } from '../order-status.js';
import { ApiProperty } from '@nestjs/swagger';

/** An item, as the order was created with. */
export class OrderItemDto {
  /** @example sku-1 */
  readonly id!: string;

  /** @example "150.00" */
  readonly price!: string;

  /** @example Café em grãos */
  readonly description?: string;
}

/** A payment method, as the order was created with or, once completed, as it was paid. */
export class OrderPaymentMethodDto {
  /** @example credit_card */
  readonly id!: string;

  /** @example "150.00" */
  readonly amount!: string;
}

/** The cashback the customer can redeem on the order. */
export class ToRedeemDto {
  /**
   * What the customer has free to spend now; what is held for this or another order is not in it.
   * @example "80.00"
   */
  readonly available!: string;

  /**
   * The most that can be redeemed on this order now, what is held for it included; "0.00" once it is finished.
   * @example "75.00"
   */
  readonly maximum!: string;

  /** Why the maximum is not more; null where nothing but the total limits it, and once the order is finished. */
  @ApiProperty({
    type: String,
    enum: ['balance', 'order_share', 'minimum_total', null],
    nullable: true,
    example: 'order_share',
  })
  readonly limited_by!: LimitedBy;

  /**
   * What is held for this order.
   * @example "0.00"
   */
  readonly held!: string;

  /**
   * What was redeemed at completion.
   * @example "0.00"
   */
  readonly redeemed!: string;

  /**
   * How much of the redeemed cashback refunds have returned to the customer.
   * @example "0.00"
   */
  readonly returned!: string;
}

export const TO_RECEIVE_STATUSES = ['quoted', 'pending', 'available', 'partially_reversed', 'reversed'] as const;

/** The cashback the customer will receive, or has received, for the order. */
export class ToReceiveDto {
  /**
   * Before completion: what the customer will receive if the order is finished as it stands. After: what was granted.
   * @example "7.50"
   */
  readonly amount!: string;

  /**
   * How much of it refunds have taken back.
   * @example "0.00"
   */
  readonly reversed!: string;

  @ApiProperty({
    enum: TO_RECEIVE_STATUSES,
    description:
      '`quoted` before completion, `pending` until `available_at`, then `available`; `reversed` where the order was cancelled or refunded.',
  })
  readonly status!: (typeof TO_RECEIVE_STATUSES)[number];

  /** From when it can be spent; before completion, as if the order were completed when it was created. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly available_at!: Date | null;

  /** Until when it can be spent. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly expires_at!: Date | null;
}

export class OrderCashbackDto {
  readonly to_redeem!: ToRedeemDto;
  readonly to_receive!: ToReceiveDto;
}

/** What all refunds of the order so far did. */
export class OrderRefundedDto {
  /**
   * How much of the total has been refunded.
   * @example "0.00"
   */
  readonly amount!: string;

  /**
   * How much of it is money for the customer; the rest was returned as cashback.
   * @example "0.00"
   */
  readonly amount_to_pay_back!: string;
}

/** An order with its cashback. (Specification 2.5) */
export class OrderDto {
  /** UUID v7. */
  readonly id!: string;

  /** @example PED-1001 */
  readonly external_id!: string;

  @ApiProperty({ enum: ORDER_STATUSES, example: 'pending' })
  readonly status!: OrderStatus;

  /** @example "52998224725" */
  readonly document!: string;

  /** @example BRL */
  readonly currency!: string;

  /** @example "150.00" */
  readonly total!: string;

  readonly items!: OrderItemDto[];
  readonly payment_methods!: OrderPaymentMethodDto[];
  readonly cashback!: OrderCashbackDto;
  readonly refunded!: OrderRefundedDto;
  readonly created_at!: Date;

  /** Until when the order can be finished at the terms it was quoted, and what is held for it lasts. */
  readonly expires_at!: Date;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly completed_at!: Date | null;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly cancelled_at!: Date | null;
}
