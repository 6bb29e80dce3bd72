import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { PageQueryDto } from '../../http/page-query.dto.js';
import { IsCallerId, IsInstant } from '../../http/validators.js';
import { ORDER_STATUSES, type OrderStatus } from '../order-status.js';
import { OrderDto } from './order.dto.js';

/** Filters for orders. An order must match all of them. Without filters, all orders of the merchant are listed. */
export class ListOrdersDto extends PageQueryDto {
  /** The order with this `external_id`. */
  @IsOptional()
  @IsCallerId()
  readonly external_id?: string;

  @ApiProperty({ enum: ORDER_STATUSES, enumName: 'OrderStatus', required: false })
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
 * A page of orders, newest first. It has at most `limit` orders and 1 MiB, but at least one order if any is left.
 */
export class OrderPageDto {
  readonly data!: OrderDto[];

  /** The `cursor` for the next page; null on the last page. It stays valid when orders are added. */
  @ApiProperty({ type: String, nullable: true })
  readonly next_cursor!: string | null;
}
