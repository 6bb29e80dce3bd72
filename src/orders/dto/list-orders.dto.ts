import { IsOptional } from 'class-validator';
import { CreatedQueryDto } from '../../http/page-query.dto.js';
import { IsCallerId, IsInstant, IsQueryWords } from '../../http/validators.js';
import { ORDER_STATUSES, type OrderStatus } from '../order-transitions.js';
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

  /** Made in this store. Of the other filters, only `created_from` and `created_to` are allowed with it. */
  @IsOptional()
  @IsCallerId()
  readonly store?: string;

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
   * other instants and `store` are not allowed.
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
export class OrderPageDto {
  readonly data!: OrderDto[];

  /** The `cursor` for the next page; null on the last page. It stays valid if orders are added. */
  readonly next_cursor!: string | null;
}
