import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { PolicyDto } from '../merchants/policy.dto.js';
import { IsDocument, IsInstant, IsListOf, IsMoney } from '../platform/http/validators.js';
import { ApiMoney, InOrder } from '../platform/openapi/decorators.js';
import { CreateOrderItemDto, ITEMS, OrderAmountsDto } from './order-requests.dto.js';
import { OrderPaymentMethodDto, ToReceiveDto, ToRedeemDto } from './order.dto.js';

/** What an order would contain. */
export class CreateQuoteDto extends OrderAmountsDto {
  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters).
   * Without it, the quote has no `to_redeem`.
   * @example "52998224725"
   */
  @IsOptional()
  @IsDocument()
  readonly document?: string;

  /** Items of the order, 0 to 500. They do not change the quote. */
  @IsOptional()
  @IsListOf(() => CreateOrderItemDto, ITEMS)
  readonly items?: CreateOrderItemDto[];

  /**
   * Amount of cashback that the order would hold, in BRL. Default: nothing.
   * @example "0.00"
   */
  @IsOptional()
  @IsMoney({ zero: true })
  readonly redeem?: string;

  /**
   * When it was sold, for the rules and dates of that instant: as in `POST /orders`. Default: now.
   */
  @IsOptional()
  @IsInstant()
  readonly sold_at?: string;
}

/** The cashback of an order that does not exist. */
export class QuoteCashbackDto {
  /** What the customer can redeem; null without a `document`. */
  @ApiProperty({ type: ToRedeemDto, nullable: true })
  readonly to_redeem!: ToRedeemDto | null;

  readonly to_receive!: ToReceiveDto;
}

/** The cashback of an order if it were created now and held `redeem`, or was sold at `sold_at`. */
@InOrder()
export class QuoteDto {
  readonly cashback!: QuoteCashbackDto;
  readonly payment_methods!: OrderPaymentMethodDto[];

  /**
   * What the customer would pay in money: the total less `redeem`.
   * @example "150.00"
   */
  @ApiMoney()
  readonly amount_to_pay!: string;

  readonly policy!: PolicyDto;
}
