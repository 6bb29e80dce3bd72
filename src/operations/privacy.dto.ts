import { ApiProperty } from '@nestjs/swagger';
import { ValidateBy, type ValidationArguments } from 'class-validator';
import { CreditDto } from '../cashback/credit.dto.js';
import { DebitDto } from '../cashback/debit.dto.js';
import { GrantDto } from '../cashback/grant.dto.js';
import { EntryDto, WalletDto } from '../cashback/wallet.dto.js';
import { EventDto } from '../events/event.dto.js';
import { OrderDto } from '../orders/order.dto.js';
import { RefundDto } from '../orders/refund.dto.js';
import { Converted } from '../platform/http/to-dto.js';
import { IsDocument } from '../platform/http/validators.js';
import { ApiId, InOrder } from '../platform/openapi/decorators.js';
import { bareDocument } from '../platform/values/document.js';

/** The customer to export. It is in the body, because a URL must not contain a document. */
export class ExportCustomerDto {
  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters).
   * @example "52998224725"
   */
  @IsDocument()
  readonly document!: string;
}

/** The customer to erase. It cannot be undone, so no other example is about this customer. */
export class EraseCustomerDto {
  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters).
   * @example "12345678909"
   */
  @IsDocument()
  readonly document!: string;

  /**
   * The document again.
   * @example "12345678909"
   */
  @ValidateBy({
    name: 'isConfirmed',
    validator: {
      validate: (value: unknown, given?: ValidationArguments) =>
        typeof value === 'string' && value === (given?.object as EraseCustomerDto | undefined)?.document,
      defaultMessage: () => 'must be the document again: an erasure cannot be undone',
    },
  })
  @Converted((value) => (typeof value === 'string' ? bareDocument(value) : value))
  @ApiProperty({ type: String })
  readonly confirm!: string;
}

/** All that is stored about a customer of the merchant, each list in the order of time. */
@InOrder()
export class CustomerExportDto {
  /** @example "52998224725" */
  readonly document!: string;

  readonly exported_at!: Date;
  readonly wallet!: WalletDto;
  readonly orders!: OrderDto[];
  readonly refunds!: RefundDto[];

  /** The cashback that was earned, granted or returned, also what is spent or has expired. */
  readonly credits!: CreditDto[];

  readonly grants!: GrantDto[];
  readonly debits!: DebitDto[];

  /** The statement. */
  readonly entries!: EntryDto[];

  /** The events that are still kept. */
  readonly events!: EventDto[];
}

/** What an erasure changed. */
@InOrder()
export class ErasureDto {
  /** The pseudonym that replaces the document; null for an unknown customer. */
  @ApiId({ nullable: true })
  readonly pseudonym!: string | null;

  /** By which the wallet is still found; null if there is none. */
  @ApiId({ nullable: true })
  readonly wallet_id!: string | null;

  /**
   * Number of the customer's orders.
   * @example 12
   */
  @ApiProperty({ type: 'integer' })
  readonly orders!: number;
}
