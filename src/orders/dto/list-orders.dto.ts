import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { IsCallerId, IsInstant } from '../../common/rules.js';
import { ORDER_STATUSES, type OrderStatus } from '../order-status.js';
import { OrderDto } from './order.dto.js';

/** A page of something: how many, and from where. */
export class PageQueryDto {
  /**
   * 1 to 100.
   * @example 20
   */
  @IsOptional()
  @Type(() => Number)
  @IsInt({ message: 'must be a whole number from 1 to 100' })
  @Min(1, { message: 'must be a whole number from 1 to 100' })
  @Max(100, { message: 'must be a whole number from 1 to 100' })
  readonly limit: number = 20;

  /** The `next_cursor` of the page before. */
  @IsOptional()
  @IsString({ message: 'must be a next_cursor of an earlier page' })
  readonly cursor?: string;
}

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
