import { ApiProperty } from '@nestjs/swagger';
import { ByDto } from '../../auth/dto/by.dto.js';
import { IsDocument } from '../../http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../../openapi/decorators.js';
import { ENTRY_KINDS, type EntryKind } from '../../cashback/entry.entity.js';

/** The customer whose wallet to find. It is in the body, because a URL must not contain a document. */
export class SearchWalletDto {
  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters), without punctuation.
   * @example "52998224725"
   */
  @IsDocument()
  readonly document!: string;
}

class NextAmountDto {
  /** @example "7.50" */
  @ApiMoney()
  readonly amount!: string;

  readonly at!: Date;
}

/** An amount, and when it becomes available. */
@InOrder('amount', 'at')
export class NextReleaseDto extends NextAmountDto {
  /**
   * The first day on which it can be spent, in the merchant's time zone.
   * @example "2026-11-28"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly available_on!: string;
}

/** An amount, and when it expires. */
@InOrder('amount', 'at')
export class NextExpiryDto extends NextAmountDto {
  /**
   * The last day on which it can be spent, in the merchant's time zone.
   * @example "2027-05-26"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly expires_on!: string;
}

/** A customer's current cashback with the merchant. */
@InOrder()
export class WalletDto {
  /** UUID v7; null for an unknown customer. */
  @ApiId({ nullable: true })
  readonly id!: string | null;

  /**
   * The taxpayer number; a UUID in its place for a customer who was erased. For an unknown customer, the one that you
   * sent.
   * @example "52998224725"
   */
  readonly document!: string;

  /**
   * Cashback that the customer can spend now.
   * @example "80.00"
   */
  @ApiMoney()
  readonly available!: string;

  /**
   * Earned and granted cashback that is not available yet.
   * @example "7.50"
   */
  @ApiMoney()
  readonly pending!: string;

  /**
   * Cashback held for open orders.
   * @example "0.00"
   */
  @ApiMoney()
  readonly held!: string;

  /**
   * Amount that refunds could not take back. New cashback first repays it.
   * @example "0.00"
   */
  @ApiMoney()
  readonly debt!: string;

  /** The pending amount that becomes available next; null if nothing is pending. */
  @ApiProperty({ type: NextReleaseDto, nullable: true })
  readonly next_release!: NextReleaseDto | null;

  /** The available amount that expires next; null if nothing is available. */
  @ApiProperty({ type: NextExpiryDto, nullable: true })
  readonly next_expiry!: NextExpiryDto | null;
}

/** A ledger entry of a wallet. It never changes. */
@InOrder()
export class EntryDto {
  /**
   * Number in the statement, from 1 without gaps.
   * @example 1
   */
  @ApiProperty({ type: 'integer' })
  readonly seq!: number;

  @ApiProperty({
    enum: Object.keys(ENTRY_KINDS),
    enumName: 'EntryKind',
    description: '`debt` and `repay` change the debt, all others change the balance.',
    example: 'earn',
  })
  readonly kind!: EntryKind;

  /**
   * Signed amount.
   * @example "-20.00"
   */
  @ApiMoney({ signed: true })
  readonly amount!: string;

  /**
   * Balance after this entry: what is available, pending and held, and what has expired and is not yet written off.
   * @example "60.00"
   */
  @ApiMoney()
  readonly balance!: string;

  /**
   * Debt after this entry.
   * @example "0.00"
   */
  @ApiMoney()
  readonly debt!: string;

  /** The order that the entry belongs to, if any. */
  @ApiId({ nullable: true })
  readonly order_id!: string | null;

  /** Your ID of that order. */
  @ApiProperty({ type: String, nullable: true, example: 'PED-1001' })
  readonly order_external_id!: string | null;

  /** The refund that the entry belongs to, if any. An `expire` belongs to none, also if a refund writes it. */
  @ApiId({ nullable: true })
  readonly refund_id!: string | null;

  /** Your ID of that refund. */
  @ApiProperty({ type: String, nullable: true, example: 'DEV-1' })
  readonly refund_external_id!: string | null;

  /** The credit that the entry changed; null if it changed the debt. */
  @ApiId({ nullable: true })
  readonly credit_id!: string | null;

  /** The grant that gave the customer this credit; null if an order earned it, or a refund made it as a new credit. */
  @ApiId({ nullable: true })
  readonly grant_id!: string | null;

  /** Your ID of that grant. */
  @ApiProperty({ type: String, nullable: true, example: 'SORRY-1' })
  readonly grant_external_id!: string | null;

  /** The reason of that grant, if it has one. */
  @ApiProperty({ type: String, nullable: true, example: 'Late delivery' })
  readonly reason!: string | null;

  /** When the entry took effect. For an expiry, this can be earlier than `created_at`. */
  readonly effective_at!: Date;

  readonly created_at!: Date;

  /** Who did it; null for what a date does. */
  @ApiProperty({ type: ByDto, nullable: true })
  readonly by!: ByDto | null;

  /** Where it happened; null if that is not known. */
  @ApiProperty({ type: String, nullable: true, example: 'SP-014' })
  readonly store!: string | null;
}

/** A page of a wallet's statement, newest first. */
export class EntryPageDto {
  readonly data!: EntryDto[];

  /** The `cursor` for the next page; null on the last page. */
  readonly next_cursor!: string | null;
}
