import { ApiProperty, OmitType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { Column } from '../platform/http/csv.js';
import { ListQueryDto, PageOf, PageQueryDto } from '../platform/http/page-query.dto.js';
import { IsCallerId, IsDay, IsQueryWord } from '../platform/http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../platform/openapi/decorators.js';

/** Where a credit comes from: the order that earned it, or on which it was redeemed and returned, or a grant. */
@InOrder()
export class CreditSourceDto {
  @ApiProperty({ enum: ['order', 'grant'], enumName: 'CreditSourceType', example: 'grant' })
  readonly type!: 'order' | 'grant';

  /** The ID of the order or of the grant. */
  @ApiId()
  readonly id!: string;

  /**
   * Your ID of the order or of the grant.
   * @example SORRY-1
   */
  readonly external_id!: string;

  /** The reason of the grant, if it has one; null for an order. */
  @ApiProperty({ type: String, nullable: true, example: 'Late delivery' })
  readonly reason!: string | null;

  /** Whether a refund of the order returned it as a credit of its own, because its origin ends too soon. */
  @ApiProperty({ example: false })
  readonly return!: boolean;
}

/** Where the credit of a ledger entry comes from, and which store owes it. */
@InOrder('type', 'id', 'external_id', 'store', 'return')
export class EntrySourceDto extends OmitType(CreditSourceDto, ['reason']) {
  /** Where it was earned or granted; null if that is not known. */
  @ApiProperty({ type: String, nullable: true, example: 'SP-014' })
  readonly store!: string | null;
}

/** An amount of cashback with its own dates. */
@InOrder()
export class CreditDto {
  /** UUID v7. */
  @ApiId()
  readonly id!: string;

  /**
   * The amount that was earned, granted or returned.
   * @example "20.00"
   */
  @ApiMoney()
  readonly amount!: string;

  /**
   * What is neither spent nor expired, including what orders hold of it.
   * @example "12.00"
   */
  @ApiMoney()
  readonly remaining!: string;

  /**
   * The part of `remaining` that pending orders hold.
   * @example "0.00"
   */
  @ApiMoney()
  readonly held!: string;

  /** From when it can be spent; in the future if it is pending. */
  readonly available_at!: Date;

  /**
   * The first day on which it can be spent, in the merchant's time zone.
   * @example "2026-11-28"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly available_on!: string;

  readonly expires_at!: Date;

  /**
   * The last day on which it can be spent, in the merchant's time zone.
   * @example "2026-12-03"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly expires_on!: string;

  /** The store that owes it: where it was earned or granted; null if that is not known. */
  @ApiProperty({ type: String, nullable: true, example: 'SP-014' })
  readonly store!: string | null;

  readonly source!: CreditSourceDto;
}

/** A page of a wallet's credits, earliest expiry first. */
export class CreditPageDto extends PageOf(CreditDto) {}

/** Which credits of a wallet to list. */
export class ListWalletCreditsDto extends PageQueryDto {
  /** `open`: of which something remains that is not held. `all`: also those that are spent or have expired. */
  @IsOptional()
  @IsQueryWord(['open', 'all'])
  readonly status?: 'open' | 'all';
}

/** Filters for the open credits of all customers. A credit must match all of them. */
export class ListCreditsDto extends ListQueryDto {
  /** With an `expires_on` of this day or later. */
  @IsOptional()
  @IsDay()
  readonly expires_from?: string;

  /** With an `expires_on` before this day. */
  @IsOptional()
  @IsDay()
  readonly expires_to?: string;

  /** Owed by this store. */
  @IsOptional()
  @IsCallerId()
  readonly store?: string;
}

/** An open credit with its customer. */
@InOrder('id', 'wallet_id', 'document')
export class CustomerCreditDto extends CreditDto {
  @ApiId()
  readonly wallet_id!: string;

  /**
   * The taxpayer number; a UUID in its place for a customer who was erased.
   * @example "52998224725"
   */
  readonly document!: string;
}

/** A page of all customers' credits, earliest expiry first. With `store`, it can be empty although more follow. */
export class CustomerCreditPageDto extends PageOf(CustomerCreditDto) {}

/** The columns of the list as CSV. */
export const CREDIT_COLUMNS: readonly Column[] = [
  ...(['document', 'expires_on', 'available_on', 'amount', 'remaining', 'held', 'store', 'source.type'] as const),
  ...(['source.external_id', 'source.reason', 'id'] as const),
];
