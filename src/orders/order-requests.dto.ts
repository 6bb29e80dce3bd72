import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsOptional, ValidateIf } from 'class-validator';
import {
  IsAtMost,
  IsCallerId,
  IsBrl,
  IsDocument,
  IsInstant,
  IsListOf,
  IsMetadata,
  IsMoney,
  IsObjectOf,
  IsText,
  IsWholeNumber,
} from '../platform/http/validators.js';
import { InOrder } from '../platform/openapi/decorators.js';
import { SENT_DOCUMENT_PATTERN } from '../platform/values/document.js';
import { UUID } from '../platform/values/ids.js';
import { type Metadata } from '../platform/values/texts.js';

/** An item of an order. */
export class CreateOrderItemDto {
  /**
   * Your ID of the item.
   * @example sku-1
   */
  @IsCallerId()
  readonly id!: string;

  /**
   * Price of one unit in BRL. It can be "0.00".
   * @example "150.00"
   */
  @IsMoney({ zero: true })
  readonly price!: string;

  /**
   * Description of the item, at most 500 characters.
   * @example Café em grãos
   */
  @IsOptional()
  @IsText('note', 500)
  readonly description?: string;

  /**
   * Quantity of the item. Default: 1.
   * @example 1
   */
  @IsOptional()
  @IsWholeNumber(1, 999_999)
  readonly quantity?: number = 1;
}

/** A payment method for a part of the order. */
export class PaymentMethodDto {
  /**
   * Your ID of the payment method. The merchant's policy can have an earn rate for it.
   * @example credit_card
   */
  @IsCallerId()
  readonly id!: string;

  /**
   * Amount paid with this method, in BRL. It must be greater than zero.
   * @example "150.00"
   */
  @IsMoney({ zero: false })
  readonly amount!: string;
}

export const ITEMS = { of: 'items', most: 500 };
export const PAYMENT_METHODS = { of: 'payment methods', most: 20 };

/** The amounts of an order. */
export class OrderAmountsDto {
  /**
   * Total of the order in BRL. It is not compared with the items, because discounts and shipping can change it. With
   * "0.00", nothing is redeemed, earned or refunded.
   * @example "150.00"
   */
  @IsMoney({ zero: true })
  readonly total!: string;

  /** The currency of all amounts, if you send it: only BRL. */
  @IsBrl()
  readonly currency?: 'BRL';

  /**
   * Part of the total on which cashback is earned and redeemed, in BRL. It is at most the total, which is the default.
   * Leave out shipping and gift cards, for example.
   * @example "150.00"
   */
  @IsOptional()
  @IsAtMost('total')
  @IsMoney({ zero: true })
  readonly eligible_total?: string;

  /**
   * What the order earns if no cashback is redeemed on it, in BRL, instead of the policy's rates: for rates by
   * category, brand or customer. Default: the rates. It is at most the share `earn_rate_maximum` of the eligible total.
   */
  @IsOptional()
  @IsMoney({ zero: true })
  readonly earn_amount?: string;

  /** Payment methods, 0 to 20; none by default. Their amounts must add up to at most the total. */
  @IsOptional()
  @IsListOf(() => PaymentMethodDto, PAYMENT_METHODS)
  readonly payment_methods?: PaymentMethodDto[];
}

/** The cart of an order: what its quote depends on. */
export class OrderContentDto extends OrderAmountsDto {
  /** Items of the order, 1 to 500. */
  @IsListOf(() => CreateOrderItemDto, { ...ITEMS, least: 1 })
  readonly items!: CreateOrderItemDto[];

  /**
   * Where the order is made, for reports by store: at most 100 characters.
   * @example SP-014
   */
  @IsOptional()
  @IsCallerId()
  readonly store?: string;

  /**
   * What you keep with the order, such as the till: at most 20 strings of up to 500 characters. Keys have 1 to 40
   * letters, digits, `_`, `.` and `-`.
   */
  @IsOptional()
  @IsMetadata()
  readonly metadata?: Metadata;
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
  @IsListOf(() => PaymentMethodDto, PAYMENT_METHODS)
  @ApiProperty({ example: [{ id: 'credit_card', amount: '130.00' }] })
  readonly payment_methods?: PaymentMethodDto[];
}

/** The order to create. */
@InOrder('external_id', 'items', 'document', 'total')
export class CreateOrderDto extends OrderContentDto {
  /**
   * Your ID of the order, unique per merchant. It is the idempotency key.
   * @example PED-1001
   */
  @IsCallerId()
  readonly external_id!: string;

  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters).
   * @example "52998224725"
   */
  @IsDocument()
  readonly document!: string;

  /**
   * When the order and its hold expire: at least 1 minute and at most the policy's `max_order_ttl_minutes` in the
   * future. Default: after the policy's `order_ttl_minutes`.
   */
  @IsOptional()
  @IsInstant()
  readonly expires_at?: string;

  /**
   * Completes the order in the same request, for a sale that is paid. A refusal leaves no order. If the order exists
   * with the same content, it is completed, or the completion is repeated.
   */
  @IsOptional()
  @IsObjectOf(() => CompleteOrderDto)
  readonly complete?: CompleteOrderDto;

  /**
   * When it was sold, for a sale with `complete` that arrives late: the rules of that instant decide, and the dates of
   * its cashback follow it. More than five minutes ago it needs the permission `late_sales`, and the rule
   * `late_sale_days` says how far back it can be. An order that exists keeps its own rules.
   */
  @IsOptional()
  @IsInstant()
  readonly sold_at?: string;
}

/** The new content of a pending order. It replaces the whole content. */
export class AmendOrderDto extends OrderContentDto {
  /** The order's own, or absent: it cannot be changed. */
  @IsOptional()
  @IsCallerId()
  @ApiProperty({ readOnly: true, required: false })
  readonly external_id?: string;

  /**
   * The customer's taxpayer number. Default: the order's own. An order that holds cashback keeps its customer, as does
   * one of an erased customer, whose pseudonym, a UUID, is accepted.
   * @example "52998224725"
   */
  @IsOptional()
  @ValidateIf(({ document }: AmendOrderDto) => !UUID.test(String(document)))
  @ApiProperty({ pattern: `${SENT_DOCUMENT_PATTERN.source}|${UUID.source}` })
  @IsDocument()
  readonly document?: string;

  /**
   * "maximum" lowers a hold that exceeds the new maximum to that maximum. Without it, such a hold is a 422. A hold is
   * never raised.
   */
  @IsOptional()
  @IsIn(['maximum'], { message: 'must be "maximum"' })
  @ApiProperty({ type: String, enum: ['maximum'], example: 'maximum', required: false })
  readonly redeem?: 'maximum';
}

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
