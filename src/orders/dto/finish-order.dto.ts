import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { IsInstant, IsListOf, IsMoney, IsText } from '../../http/validators.js';
import { PAYMENT_METHODS, PaymentMethodDto } from './create-order.dto.js';

/** The amount of cashback to hold for an order. */
export class SetRedemptionDto {
  /**
   * Amount in BRL. It replaces an earlier hold; "0.00" releases it.
   * @example "20.00"
   */
  @IsMoney({ zero: true })
  readonly amount!: string;

  /**
   * The new expiry of the order and its hold: at least 1 minute and at most the policy's `max_order_ttl_minutes` in the
   * future. Default: a pending order keeps its `expires_at`, and an expired order gets the policy's
   * `order_ttl_minutes`.
   */
  @IsOptional()
  @IsInstant()
  readonly expires_at?: string;
}

/** The final values of an order. All members are optional, and so is the body. */
export class CompleteOrderDto {
  /**
   * Amount of cashback to redeem, in BRL. Default: the held amount. Required if the order has expired and its `lapsed`
   * is not "0.00".
   * @example "20.00"
   */
  @IsOptional()
  @IsMoney({ zero: true })
  readonly redeem?: string;

  /**
   * Final payment methods: what the customer really pays. Their amounts and the redeemed cashback must add up to at
   * most the total. Default: those of the order, which are not compared with the total again.
   */
  @IsOptional()
  @IsListOf(() => PaymentMethodDto, 20, PAYMENT_METHODS)
  @ApiProperty({ example: [{ id: 'credit_card', amount: '130.00' }] })
  readonly payment_methods?: PaymentMethodDto[];
}

/** Why an order is cancelled. The body is optional. */
export class CancelOrderDto {
  /**
   * For your records, at most 500 characters. Do not write names or addresses.
   * @example Out of stock
   */
  @IsOptional()
  @IsText('reason', 500)
  readonly reason?: string;
}
