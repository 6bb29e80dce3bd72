import { ArrayMaxSize, ArrayMinSize, IsArray, IsOptional, ValidateNested } from 'class-validator';
import { ElementsOf, IsCallerId, IsDocument, IsMoney, IsText, MUST_BE_OBJECTS } from '../../http/validators.js';

/** An item of an order, as the merchant sells it. */
export class CreateOrderItemDto {
  /**
   * The item's id in the caller's system.
   * @example sku-1
   */
  @IsCallerId()
  readonly id!: string;

  /**
   * Price in BRL; may be "0.00".
   * @example "150.00"
   */
  @IsMoney({ zero: true })
  readonly price!: string;

  /**
   * At most 500 characters.
   * @example Café em grãos
   */
  @IsOptional()
  @IsText(500)
  readonly description?: string;
}

/** A means by which a part of the order is paid. */
export class PaymentMethodDto {
  /**
   * The method's id in the caller's system; the merchant's policy may have a rate of its own for it.
   * @example credit_card
   */
  @IsCallerId()
  readonly id!: string;

  /**
   * What is paid by it, in BRL, over zero.
   * @example "150.00"
   */
  @IsMoney({ zero: false })
  readonly amount!: string;
}

/** Creation of an order. Members that are not listed here are ignored. (Specification 2.4) */
export class CreateOrderDto {
  /**
   * The order's id in the caller's system, unique for the merchant: the idempotency key.
   * @example PED-1001
   */
  @IsCallerId()
  readonly external_id!: string;

  /** What is sold: 1 to 500 items. */
  @ElementsOf(() => CreateOrderItemDto, 500)
  @ValidateNested(MUST_BE_OBJECTS)
  @ArrayMaxSize(500, { message: 'must be an array of 1 to 500 items' })
  @ArrayMinSize(1, { message: 'must be an array of 1 to 500 items' })
  @IsArray({ message: 'must be an array of 1 to 500 items' })
  readonly items!: CreateOrderItemDto[];

  /**
   * The customer's taxpayer number (CPF): 11 digits.
   * @example "52998224725"
   */
  @IsDocument()
  readonly document!: string;

  /**
   * What the order comes to, in BRL, over zero. It is not compared with the items: discounts and shipping are the caller's.
   * @example "150.00"
   */
  @IsMoney({ zero: false })
  readonly total!: string;

  /** How it is paid: 0 to 20 methods, together at most the total. */
  @ElementsOf(() => PaymentMethodDto, 20)
  @ValidateNested(MUST_BE_OBJECTS)
  @ArrayMaxSize(20, { message: 'must be an array of 0 to 20 payment methods' })
  @IsArray({ message: 'must be an array of 0 to 20 payment methods' })
  readonly payment_methods!: PaymentMethodDto[];
}
