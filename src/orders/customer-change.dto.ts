import { ApiProperty } from '@nestjs/swagger';
import { ByDto } from '../platform/http/by.dto.js';
import { IsDocument, IsText } from '../platform/http/validators.js';
import { ApiMoney, InOrder } from '../platform/openapi/decorators.js';
import { OrderDto } from './order.dto.js';

/** The right customer of a completed order. */
export class ChangeCustomerDto {
  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters).
   * @example "11144477735"
   */
  @IsDocument()
  readonly document!: string;

  /**
   * Why, for your records: at most 500 characters. Do not write names or addresses.
   * @example "Wrong digit typed at the till"
   */
  @IsText('reason', 500, true)
  readonly reason!: string;
}

/** What a correction of the customer did. */
@InOrder()
export class CustomerChangeDto {
  /** The order in its current state. */
  readonly order!: OrderDto;

  /**
   * The earned cashback that moved to the other customer, with its dates.
   * @example "7.50"
   */
  @ApiMoney()
  readonly moved!: string;

  /**
   * What did not move, because the first customer had spent it, or it had expired. No refund takes it back from the
   * other customer. To compensate them, grant it.
   * @example "0.00"
   */
  @ApiMoney()
  readonly not_moved!: string;

  @ApiProperty({ type: String, nullable: true, example: 'Wrong digit typed at the till' })
  readonly reason!: string | null;

  readonly created_at!: Date;
  readonly created_by!: ByDto;
}
