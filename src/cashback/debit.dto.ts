import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { ByDto } from '../platform/http/by.dto.js';
import { Column } from '../platform/http/csv.js';
import { CreatedQueryDto, PageOf } from '../platform/http/page-query.dto.js';
import { present } from '../platform/http/present.js';
import {
  ApiMetadata,
  IsCallerId,
  IsDocument,
  IsMetadata,
  IsMoney,
  IsText,
  IsUserId,
} from '../platform/http/validators.js';
import { ApiId, ApiMoney, InOrder } from '../platform/openapi/decorators.js';
import { formatMoney } from '../platform/values/money.js';
import { type Metadata } from '../platform/values/texts.js';
import { type Debit } from './debit.entity.js';

/** Cashback to take from a customer, such as a grant that was made twice. */
export class CreateDebitDto {
  /**
   * Your ID of the debit, unique per merchant. It is the idempotency key.
   * @example FIX-1
   */
  @IsCallerId()
  readonly external_id!: string;

  /**
   * The customer's taxpayer number: a CPF (11 digits) or a CNPJ (14 characters).
   * @example "52998224725"
   */
  @IsDocument()
  readonly document!: string;

  /**
   * Amount in BRL. It must be greater than zero.
   * @example "15.00"
   */
  @IsMoney({ zero: false })
  readonly amount!: string;

  /**
   * The reason that the customer sees in the statement. Do not write names or addresses.
   * @example Granted twice
   */
  @IsText('reason', 500, true)
  readonly reason!: string;

  /**
   * "available" takes what there is if the customer has less. Without it, that is a 422.
   */
  @IsOptional()
  @IsIn(['available'], { message: 'must be "available"' })
  @ApiProperty({ type: String, enum: ['available'], example: 'available', required: false })
  readonly take?: 'available';

  /**
   * A note for staff, which the statement does not show.
   * @example Approved by the manager
   */
  @IsOptional()
  @IsText('note', 500)
  readonly note?: string;

  /**
   * Where it is made, for reports by store: at most 100 characters.
   * @example SP-014
   */
  @IsOptional()
  @IsCallerId()
  readonly store?: string;

  /**
   * What you keep with the debit: at most 20 strings of up to 500 characters. Keys have 1 to 40 letters, digits, `_`,
   * `.` and `-`.
   */
  @IsOptional()
  @IsMetadata()
  readonly metadata?: Metadata;
}

/** A debit in its current state. */
@InOrder()
export class DebitDto {
  /** UUID v7. */
  @ApiId()
  readonly id!: string;

  /** @example FIX-1 */
  readonly external_id!: string;

  /** The customer's wallet. */
  @ApiId()
  readonly wallet_id!: string;

  /** @example "52998224725" */
  readonly document!: string;

  /**
   * What was taken.
   * @example "15.00"
   */
  @ApiMoney()
  readonly amount!: string;

  /**
   * What the request asked for: more than `amount` only with `take`.
   * @example "15.00"
   */
  @ApiMoney()
  readonly requested_amount!: string;

  /** Whether less could be taken. */
  @ApiProperty({ type: String, enum: ['available'], nullable: true, example: null })
  readonly take!: 'available' | null;

  /**
   * What voids restored.
   * @example "0.00"
   */
  @ApiMoney()
  readonly restored!: string;

  /**
   * Once it is voided, what was not restored: what had expired meanwhile, or what refunds of its order had settled.
   * @example "0.00"
   */
  @ApiMoney()
  readonly not_restored!: string;

  /** Null after the customer was erased. */
  @ApiProperty({ type: String, nullable: true, example: 'Granted twice' })
  readonly reason!: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'Approved by the manager' })
  readonly note!: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'SP-014' })
  readonly store!: string | null;

  /** What you keep with the debit; empty by default. */
  @ApiMetadata()
  readonly metadata!: Metadata;

  readonly created_at!: Date;
  readonly created_by!: ByDto;

  /** When it was first voided; null if it was not. */
  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  readonly voided_at!: Date | null;

  /** Who did that. */
  @ApiProperty({ type: ByDto, nullable: true, example: null })
  readonly voided_by!: ByDto | null;

  @ApiProperty({ type: String, nullable: true, example: null })
  readonly void_reason!: string | null;
}

/** Filters for debits. A debit must match all of them. */
export class ListDebitsDto extends CreatedQueryDto {
  /** The debit with this `external_id`. */
  @IsOptional()
  @IsCallerId()
  readonly external_id?: string;

  /** Made by this API user. */
  @IsOptional()
  @IsUserId()
  readonly user_id?: string;
}

/** A page of debits, newest first. */
export class DebitPageDto extends PageOf(DebitDto) {}

/** Why a debit is voided. The body is optional. */
export class VoidDebitDto {
  /**
   * For your records, at most 500 characters.
   * @example Wrong customer
   */
  @IsOptional()
  @IsText('reason', 500)
  readonly reason?: string;
}

/** Builds the response for a debit. @param document of its customer. */
export function toDebitDto(debit: Debit, document: string): DebitDto {
  const { amountCents, restoredCents, voidedAt } = debit;
  return {
    ...present(debit, 'id', 'externalId', 'walletId'),
    document,
    ...present(debit, 'amountCents'),
    requested_amount: formatMoney(debit.requestedCents),
    take: debit.takesAvailable ? 'available' : null,
    ...present(debit, 'restoredCents'),
    not_restored: formatMoney(voidedAt === null ? 0 : amountCents - restoredCents),
    ...present(debit, 'reason', 'note', 'store', 'metadata'),
    ...present(debit, 'createdAt', 'createdBy', 'voidedAt', 'voidedBy', 'voidReason'),
  };
}

/** The columns of the list as CSV. */
export const DEBIT_COLUMNS: readonly Column[] = [
  ...(['external_id', 'created_at', 'created_by.name', 'store', 'document', 'amount', 'requested_amount'] as const),
  ...(['restored', 'not_restored', 'reason', 'note', 'voided_at', 'voided_by.name', 'void_reason'] as const),
  ...(['metadata', 'id'] as const),
];
