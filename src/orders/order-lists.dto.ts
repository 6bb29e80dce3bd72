import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { Column } from '../platform/http/csv.js';
import { CreatedQueryDto, PageOf } from '../platform/http/page-query.dto.js';
import {
  IsCallerId,
  IsDocument,
  IsIdOf,
  IsInstant,
  IsQueryWords,
  IsUserId,
  IsWholeNumber,
  IsWordList,
} from '../platform/http/validators.js';
import { ORDER_STATUSES, type OrderStatus } from './order-transitions.js';
import { OrderDto } from './order.dto.js';

/** Filters for orders. An order must match all of them. Without filters, all orders of the merchant are listed. */
export class ListOrdersDto extends CreatedQueryDto {
  /** The order with this `external_id`. */
  @IsOptional()
  @IsCallerId()
  readonly external_id?: string;

  /** One or more statuses, separated by commas. */
  @IsOptional()
  @IsQueryWords(ORDER_STATUSES)
  readonly status?: OrderStatus[];

  /**
   * Made in this store. Of the other filters, only instants of creation or of completion are allowed with it. By
   * completion, a page can have fewer orders than `limit`, or none, although more follow.
   */
  @IsOptional()
  @IsCallerId()
  readonly store?: string;

  /** Completed by this API user, or by the `operator`. The same filters as with `store` are allowed with it. */
  @IsOptional()
  @IsUserId()
  readonly user_id?: string;

  /** Made by the rules of this campaign. The same filters as with `store` are allowed with it. */
  @IsOptional()
  @IsIdOf('a campaign')
  readonly campaign_id?: string;

  /**
   * Last changed at this instant or later. With `updated_from` or `updated_to`, orders are sorted by their last change,
   * and of the other filters only `external_id` is allowed. A change can be committed a while after its `updated_at`:
   * begin two minutes before the last one that you have read.
   */
  @IsOptional()
  @IsInstant()
  readonly updated_from?: string;

  /** Last changed before this instant. */
  @IsOptional()
  @IsInstant()
  readonly updated_to?: string;

  /**
   * Completed at this instant or later. With `completed_from` or `completed_to`, orders are sorted by completion, and
   * other instants are not allowed.
   */
  @IsOptional()
  @IsInstant()
  readonly completed_from?: string;

  /** Completed before this instant. */
  @IsOptional()
  @IsInstant()
  readonly completed_to?: string;
}

/**
 * A page of orders, the latest creation, change or completion first. It has at most `limit` orders and 1 MiB, but at
 * least one order if any is left.
 */
export class OrderPageDto extends PageOf(
  OrderDto,
  'The `cursor` for the next page; null on the last page. It stays valid if orders are added.',
) {}

/** The customer whose orders to list, and the page. They are in the body, because a URL must not contain a document. */
export class SearchOrdersDto {
  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters).
   * @example "52998224725"
   */
  @IsDocument()
  readonly document!: string;

  /** Only orders with one of these statuses. Default: orders of every status. */
  @IsOptional()
  @IsWordList(ORDER_STATUSES, 'OrderStatus')
  @ApiProperty({ example: ['pending', 'completed'] })
  readonly status?: OrderStatus[];

  /**
   * Maximum number of orders, 1 to 100. Default: 20.
   * @example 20
   */
  @IsOptional()
  @IsWholeNumber(1, 100)
  @ApiProperty({ required: false })
  readonly limit: number = 20;

  /** The `next_cursor` of the previous page. */
  @IsOptional()
  @IsString({ message: 'must be the next_cursor of an earlier page of this list' })
  readonly cursor?: string;
}

/** The columns of the list as CSV. */
export const ORDER_COLUMNS: readonly Column[] = [
  ...([
    'external_id',
    'created_at',
    'created_by.name',
    'sold_at',
    'store',
    'document',
    'status',
    'total',
    'eligible_total',
    'amount_to_pay',
  ] as const),
  ...(['cashback.to_redeem.redeemed', 'cashback.to_redeem.returned', 'cashback.to_receive.amount'] as const),
  ...([
    'cashback.to_receive.taken_back',
    'cashback.to_receive.available_on',
    'cashback.to_receive.expires_on',
  ] as const),
  ...([
    'refunded.amount',
    'completed_at',
    'completed_by.name',
    'cancelled_at',
    'cancelled_by.name',
    'cancel_reason',
  ] as const),
  ...([
    'customer_changed_at',
    'customer_changed_by.name',
    'customer_change_reason',
    'campaign_id',
    'metadata',
    'id',
  ] as const),
];
