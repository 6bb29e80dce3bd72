import { ApiProperty } from '@nestjs/swagger';
import { IsDocument } from '../../http/validators.js';
import { ENTRY_KINDS, type EntryKind } from '../../cashback/entry.entity.js';

/** Which customer's wallet; in a body, because a document stands in no URL. */
export class SearchWalletDto {
  /**
   * The customer's taxpayer number (CPF): 11 digits.
   * @example "52998224725"
   */
  @IsDocument()
  readonly document!: string;
}

/** An amount that moves by itself at a date. */
export class NextAmountDto {
  /** @example "7.50" */
  readonly amount!: string;

  readonly at!: Date;
}

/** A customer's cashback with the merchant, as it stands now. */
export class WalletDto {
  /** UUID v7; null for a customer never seen. */
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  readonly id!: string | null;

  /**
   * Free to spend.
   * @example "80.00"
   */
  readonly available!: string;

  /**
   * Granted, and not released yet.
   * @example "7.50"
   */
  readonly pending!: string;

  /**
   * Held for open orders.
   * @example "0.00"
   */
  readonly held!: string;

  /**
   * What refunds could not take back; new cashback pays it first.
   * @example "0.00"
   */
  readonly debt!: string;

  /** The pending amount that can be spent next; null if nothing is pending. */
  @ApiProperty({ type: NextAmountDto, nullable: true })
  readonly next_release!: NextAmountDto | null;

  /** The available amount that expires next; null if nothing is available. */
  @ApiProperty({ type: NextAmountDto, nullable: true })
  readonly next_expiry!: NextAmountDto | null;
}

/** A movement of a wallet; it is written once and never changes. */
export class EntryDto {
  /**
   * Its number in the statement, from 1 without a gap.
   * @example 1
   */
  @ApiProperty({ type: 'integer' })
  readonly seq!: number;

  @ApiProperty({
    enum: Object.keys(ENTRY_KINDS),
    description: '`debt` and `repay` move the debt, all others the balance.',
    example: 'earn',
  })
  readonly kind!: EntryKind;

  /**
   * Signed.
   * @example "-20.00"
   */
  readonly amount!: string;

  /**
   * What the wallet's credits hold after it, pending ones included and what is held left out.
   * @example "60.00"
   */
  readonly balance!: string;

  /**
   * The debt after it.
   * @example "0.00"
   */
  readonly debt!: string;

  /** The order it belongs to, if any. */
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  readonly order_id!: string | null;

  /** The refund it belongs to, if any. */
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  readonly refund_id!: string | null;

  /** The credit it moved; null where it moved the debt. */
  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  readonly credit_id!: string | null;

  /** When it took effect: for a lapse or an expiry its date, which may lie before `created_at`. */
  readonly effective_at!: Date;

  readonly created_at!: Date;
}

/** A page of a wallet's statement, newest first. */
export class EntryPageDto {
  readonly data!: EntryDto[];

  /** Where the next page begins; null on the last one. */
  @ApiProperty({ type: String, nullable: true })
  readonly next_cursor!: string | null;
}
