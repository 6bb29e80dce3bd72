import { ArrayMaxSize, IsArray, IsOptional, ValidateNested } from 'class-validator';
import { ElementsOf, IsCallerId, IsMoney, MUST_BE_OBJECTS } from '../../http/validators.js';
import { PaymentMethodDto } from './create-order.dto.js';

/** How much of the customer's cashback to hold for an order. */
export class SetRedemptionDto {
  /**
   * In BRL; replaces an earlier hold, and "0.00" lets it go.
   * @example "20.00"
   */
  @IsMoney({ zero: true })
  readonly amount!: string;
}

/** Completion of an order; every member is optional, and so is the body. */
export class CompleteOrderDto {
  /**
   * How much cashback is redeemed, in BRL; without it, what is held.
   * @example "20.00"
   */
  @IsOptional()
  @IsMoney({ zero: true })
  readonly redeem?: string;

  /** How it was paid in the end; without it, as the order was created. */
  @IsOptional()
  @ElementsOf(() => PaymentMethodDto, 20)
  @ValidateNested(MUST_BE_OBJECTS)
  @ArrayMaxSize(20, { message: 'must be an array of 0 to 20 payment methods' })
  @IsArray({ message: 'must be an array of 0 to 20 payment methods' })
  readonly payment_methods?: PaymentMethodDto[];
}

/** A return, whole or in part, of a completed order. */
export class CreateRefundDto {
  /**
   * The refund's id in the caller's system, unique for the order: the idempotency key.
   * @example DEV-1
   */
  @IsCallerId()
  readonly external_id!: string;

  /**
   * How much of the order's total is returned, in BRL, over zero.
   * @example "50.00"
   */
  @IsMoney({ zero: false })
  readonly amount!: string;
}
