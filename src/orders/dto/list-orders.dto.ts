import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { PageQueryDto } from '../../http/page-query.dto.js';
import { IsCallerId, IsInstant } from '../../http/validators.js';
import { ORDER_STATUSES, type OrderStatus } from '../order-status.js';
import { OrderDto } from './order.dto.js';

/** Filters that an order must match, all of them. Without a filter every order of the merchant is listed. */
export class ListOrdersDto extends PageQueryDto {
  /** The order with this `external_id`. */
  @IsOptional()
  @IsCallerId()
  readonly external_id?: string;

  @ApiProperty({ enum: ORDER_STATUSES, required: false })
  @IsOptional()
  @IsIn(ORDER_STATUSES, { message: `must be one of ${ORDER_STATUSES.join(', ')}` })
  readonly status?: OrderStatus;

  /** Created at this instant or later. */
  @IsOptional()
  @IsInstant()
  readonly created_from?: string;

  /** Created before this instant. */
  @IsOptional()
  @IsInstant()
  readonly created_to?: string;
}

/**
 * A page of orders, newest first. It ends after `limit` orders or before it would exceed 1 MiB, but holds at least one
 * order if any is left.
 */
export class OrderPageDto {
  readonly data!: OrderDto[];

  /** The `cursor` of the next page; null on the last page. It stays valid while orders are added. */
  @ApiProperty({ type: String, nullable: true })
  readonly next_cursor!: string | null;
}
