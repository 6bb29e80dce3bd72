import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { PageQueryDto } from '../../http/page-query.dto.js';
import { IsMoney } from '../../http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../../openapi/decorators.js';
import { NextExpiryDto } from './wallet.dto.js';

/** Filters for customers. */
export class ListCustomersDto extends PageQueryDto {
  /**
   * Customers whose `available`, `pending` and `held` add up to this amount or more. Without it, or with `0.00`,
   * customers who only have a debt are listed too.
   */
  @IsOptional()
  @IsMoney({ zero: true })
  readonly balance_minimum?: string;
}

/** A customer with a balance or a debt. */
@InOrder()
export class CustomerDto {
  /**
   * The taxpayer number; a UUID in its place for a customer who was erased.
   * @example "52998224725"
   */
  readonly document!: string;

  @ApiId()
  readonly wallet_id!: string;

  /** @example "80.00" */
  @ApiMoney()
  readonly available!: string;

  /** @example "7.50" */
  @ApiMoney()
  readonly pending!: string;

  /** @example "0.00" */
  @ApiMoney()
  readonly held!: string;

  /** @example "0.00" */
  @ApiMoney()
  readonly debt!: string;

  /** The available amount that expires next; null if nothing is available. */
  @ApiProperty({ type: NextExpiryDto, nullable: true })
  readonly next_expiry!: NextExpiryDto | null;

  /** When the customer's latest order was created, whatever its status is; null for a customer without orders. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly last_order_at!: Date | null;
}

/** A page of customers, by the ID of their wallet. It can be empty although more follow. */
export class CustomerPageDto {
  readonly data!: CustomerDto[];

  /** The `cursor` for the next page; null on the last page. */
  readonly next_cursor!: string | null;
}
