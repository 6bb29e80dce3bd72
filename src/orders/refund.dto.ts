import { ApiProperty, PickType } from '@nestjs/swagger';
import { IsBoolean, IsOptional, ValidateIf } from 'class-validator';
import { ByDto, byOf } from '../platform/http/by.dto.js';
import { Column } from '../platform/http/csv.js';
import { CreatedQueryDto, PageOf } from '../platform/http/page-query.dto.js';
import {
  ApiMetadata,
  IsCallerId,
  IsListOf,
  IsMetadata,
  IsMoney,
  IsText,
  IsUserId,
  IsWholeNumber,
} from '../platform/http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../platform/openapi/decorators.js';
import { formatMoney } from '../platform/values/money.js';
import { type Metadata } from '../platform/values/texts.js';
import { ITEMS } from './order-requests.dto.js';
import { Refund } from './refund.entity.js';

/** An item of the order to return. */
export class RefundItemDto {
  /**
   * Your ID of the item, as the order has it.
   * @example sku-1
   */
  @IsCallerId()
  readonly id!: string;

  /**
   * How many come back. Default: all that the order has. If it has several items with this ID and different prices,
   * only all of them.
   * @example 1
   */
  @IsOptional()
  @IsWholeNumber(1, 999_999)
  readonly quantity?: number;
}

/** A refund to quote: its amount, or what it is for. */
export class QuoteRefundDto {
  /**
   * Amount of the order's total to refund, in BRL. It must be greater than zero. Required without `items` and `rest`,
   * and not allowed with them.
   */
  @ValidateIf(({ amount, items, rest }: QuoteRefundDto) => amount !== undefined || !(items ?? rest))
  @IsMoney({ zero: false })
  @ApiProperty({ required: false })
  readonly amount?: string;

  /**
   * Part of the amount that concerns goods of the order's `eligible_total`, in BRL: "0.00" if you refund only shipping,
   * for example. Cashback is taken back for this part only. It is at most the amount and what is left of the eligible
   * total, and the rest of the amount is at most what is left of the other part of the order. Default: in proportion to
   * the order. Not allowed with `items` and `rest`, which decide it.
   */
  @IsOptional()
  @IsMoney({ zero: true })
  readonly eligible_amount?: string;

  /**
   * The items that come back, 1 to 500, instead of an amount. They cost their share of the total; the last of them what
   * is left of it. An item that earlier refunds of items returned cannot come back again.
   */
  @IsOptional()
  @IsListOf(() => RefundItemDto, { ...ITEMS, least: 1 })
  readonly items?: RefundItemDto[];

  /** Whether to refund what the total has beyond the items, such as shipping. Default: false. */
  @IsOptional()
  @IsBoolean({ message: 'must be true or false' })
  readonly rest?: boolean;

  /**
   * The part of the earned cashback that the returned goods had, in BRL, if that is not their share of the amount. It
   * is at most what is left of the earned cashback. The customer keeps no more of it than by default, or than the share
   * `earn_rate_maximum` of what is not returned. Default: in proportion to the eligible amount.
   */
  @IsOptional()
  @IsMoney({ zero: true })
  readonly take_back?: string;
}

/** A full or partial refund of a completed order: of an amount, or of items. */
@InOrder('external_id')
export class CreateRefundDto extends QuoteRefundDto {
  /**
   * Your ID of the refund, unique per order. It is the idempotency key.
   * @example DEV-1
   */
  @IsCallerId()
  readonly external_id!: string;

  /**
   * Why, for your records: at most 500 characters. Do not write names or addresses.
   * @example Defective
   */
  @IsOptional()
  @IsText('reason', 500)
  readonly reason?: string;

  /**
   * Where the refund is made. Reports count it there; by default, where the order was made.
   * @example RJ-003
   */
  @IsOptional()
  @IsCallerId()
  readonly store?: string;

  /**
   * What you keep with the refund: at most 20 strings of up to 500 characters. Keys have 1 to 40 letters, digits, `_`,
   * `.` and `-`.
   */
  @IsOptional()
  @IsMetadata()
  readonly metadata?: Metadata;
}

/** An item that a refund returned. */
@InOrder()
export class ReturnedItemDto {
  /** @example sku-1 */
  readonly id!: string;

  /** @example 1 */
  @ApiProperty({ type: 'integer' })
  readonly quantity!: number;
}

/** A refund and its effects. Only a void changes it. */
@InOrder()
export class RefundDto {
  /** UUID v7. */
  @ApiId()
  readonly id!: string;

  /** @example DEV-1 */
  readonly external_id!: string;

  @ApiId()
  readonly order_id!: string;

  /**
   * Your ID of the order.
   * @example PED-1001
   */
  readonly order_external_id!: string;

  /**
   * Refunded part of the order's total.
   * @example "50.00"
   */
  @ApiMoney()
  readonly amount!: string;

  /**
   * Part of the amount that concerned goods of the order's `eligible_total`.
   * @example "50.00"
   */
  @ApiMoney()
  readonly eligible_amount!: string;

  /** The items that came back, with their quantities; empty if the refund was for an amount, or for the rest alone. */
  readonly items!: ReturnedItemDto[];

  /** Whether what the total has beyond the items came back with them. */
  readonly rest!: boolean;

  /**
   * Redeemed cashback that was returned to the customer's wallet, where it can be spent for at least seven days.
   * @example "6.66"
   */
  @ApiMoney()
  readonly cashback_returned!: string;

  /**
   * Earned cashback that was taken back.
   * @example "2.17"
   */
  @ApiMoney()
  readonly cashback_taken_back!: string;

  /**
   * Money to pay back to the customer: the amount minus `cashback_returned`.
   * @example "43.34"
   */
  @ApiMoney()
  readonly amount_to_pay_back!: string;

  @ApiProperty({ type: String, nullable: true, example: 'Defective' })
  readonly reason!: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'RJ-003' })
  readonly store!: string | null;

  /** What you keep with the refund; empty by default. */
  @ApiMetadata()
  readonly metadata!: Metadata;

  readonly created_at!: Date;
  readonly created_by!: ByDto;

  /** Whether it can be undone now. */
  @ApiProperty({ example: true })
  readonly voidable!: boolean;

  /** When it was undone; null if it was not. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true, example: null })
  readonly voided_at!: Date | null;

  /** Who did that. */
  @ApiProperty({ type: ByDto, nullable: true, example: null })
  readonly voided_by!: ByDto | null;

  @ApiProperty({ type: String, nullable: true, example: null })
  readonly void_reason!: string | null;
}

/** What a refund would do now. */
export class RefundQuoteDto extends PickType(RefundDto, [
  'amount',
  'eligible_amount',
  'cashback_returned',
  'cashback_taken_back',
  'amount_to_pay_back',
]) {}

/** Filters for refunds. A refund must match all of them. */
export class ListRefundsDto extends CreatedQueryDto {
  /** Made by this API user, or by the `operator`. */
  @IsOptional()
  @IsUserId()
  readonly user_id?: string;
}

/** A page of refunds, newest first. */
export class RefundPageDto extends PageOf(RefundDto) {}

/** Builds the response for what a refund does. */
export const toRefundQuoteDto = (amounts: RefundEffects): RefundQuoteDto => ({
  amount: formatMoney(amounts.amountCents),
  eligible_amount: formatMoney(amounts.eligibleCents),
  cashback_returned: formatMoney(amounts.returnedCents),
  cashback_taken_back: formatMoney(amounts.takenBackCents),
  amount_to_pay_back: formatMoney(amounts.amountCents - amounts.returnedCents),
});

type RefundEffects = Pick<Refund, 'amountCents' | 'eligibleCents' | 'returnedCents' | 'takenBackCents'>;

/**
 * Builds the response for a refund.
 *
 * @param orderExternalId the merchant's own ID of the order.
 */
export function toRefundDto(refund: Refund, orderExternalId: string, voidable: boolean): RefundDto {
  const { returned, amountCents, returnedCents } = refund;
  return {
    id: refund.id,
    external_id: refund.externalId,
    order_id: refund.orderId,
    order_external_id: orderExternalId,
    amount: formatMoney(amountCents),
    eligible_amount: formatMoney(refund.eligibleCents),
    items: returned?.items ?? [],
    rest: returned?.rest ?? false,
    cashback_returned: formatMoney(returnedCents),
    cashback_taken_back: formatMoney(refund.takenBackCents),
    amount_to_pay_back: formatMoney(amountCents - returnedCents),
    reason: refund.reason,
    store: refund.store,
    metadata: refund.metadata ?? {},
    created_at: refund.createdAt,
    created_by: byOf(refund.createdBy),
    voidable,
    voided_at: refund.voidedAt,
    voided_by: byOf(refund.voidedBy),
    void_reason: refund.voidReason,
  };
}

/** The columns of the list as CSV. */
export const REFUND_COLUMNS: readonly Column[] = [
  ...([
    'external_id',
    'created_at',
    'created_by.name',
    'store',
    'amount',
    'eligible_amount',
    'amount_to_pay_back',
  ] as const),
  ...([
    'cashback_returned',
    'cashback_taken_back',
    'reason',
    'metadata',
    'order_external_id',
    'order_id',
    'voided_at',
    'voided_by.name',
    'void_reason',
    'id',
  ] as const),
];
