import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { IsDocument, IsWholeNumber, IsWordList } from '../../http/validators.js';
import { ORDER_STATUSES, type OrderStatus } from '../order-transitions.js';

/** The customer whose orders to list, and the page. They are in the body, because a URL must not contain a document. */
export class SearchOrdersDto {
  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters), without punctuation.
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
