import { IsOptional } from 'class-validator';
import { PageQueryDto } from '../../http/page-query.dto.js';
import { IsCallerId, IsInstant, IsQueryWords } from '../../http/validators.js';
import { ORDER_STATUSES, type OrderStatus } from '../order-transitions.js';
import { OrderDto } from './order.dto.js';

/** Filters for orders. An order must match all of them. Without filters, all orders of the merchant are listed. */
export class ListOrdersDto extends PageQueryDto {
  /** The order with this `external_id`. */
  @IsOptional()
  @IsCallerId()
  readonly external_id?: string;

  /** One or more statuses, separated by commas. */
  @IsOptional()
  @IsQueryWords(ORDER_STATUSES)
  readonly status?: OrderStatus[];

  /** Created at this instant or later. */
  @IsOptional()
  @IsInstant()
  readonly created_from?: string;

  /** Created before this instant. */
  @IsOptional()
  @IsInstant()
  readonly created_to?: string;

  /**
   * Completed at this instant or later. With `completed_from` or `completed_to`, orders are sorted by completion, and
   * `created_from` and `created_to` are not allowed.
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
 * A page of orders, the latest creation or completion first. It has at most `limit` orders and 1 MiB, but at least one
 * order if any is left.
 */
export class OrderPageDto {
  readonly data!: OrderDto[];

  /** The `cursor` for the next page; null on the last page. It stays valid if orders are added. */
  readonly next_cursor!: string | null;
}
