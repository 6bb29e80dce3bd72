import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { PageQueryDto } from '../../http/page-query.dto.js';
import { IsCallerId, IsInstant } from '../../http/validators.js';
import { ORDER_STATUSES, type OrderStatus } from '../order-status.js';
import { OrderDto } from './order.dto.js';

/** Which orders to list; without any filter, all. */
export class ListOrdersDto extends PageQueryDto {
  /** The order with this id of the caller's. */
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

/** A page of orders, newest first. */
export class OrderPageDto {
  readonly data!: OrderDto[];

  /** Where the next page begins; null on the last one. It stays good while orders are added. */
  @ApiProperty({ type: String, nullable: true })
  readonly next_cursor!: string | null;
}
