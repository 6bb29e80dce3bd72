import { ApiProperty, PickType } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { Column } from '../platform/http/csv.js';
import { PageOf } from '../platform/http/page-query.dto.js';
import { present } from '../platform/http/present.js';
import { IsCallerId, IsText } from '../platform/http/validators.js';
import { ApiMoney, InOrder } from '../platform/openapi/decorators.js';
import { formatMoney } from '../platform/values/money.js';
import { type Debit } from './debit.entity.js';
import { CreateByHandDto, GrantDto } from './grant.dto.js';

/** Cashback to take from a customer, such as a grant that was made twice. */
@InOrder('external_id', 'document', 'amount', 'reason', 'take')
export class CreateDebitDto extends CreateByHandDto {
  /**
   * Your ID of the debit, unique per merchant. It is the idempotency key.
   * @example FIX-1
   */
  @IsCallerId()
  readonly external_id!: string;

  /**
   * The reason that the customer sees in the statement. Do not write names or addresses.
   * @example "Granted twice"
   */
  @IsText('reason', 500, true)
  readonly reason!: string;

  /** "available" takes what there is if the customer has less. Without it, that is a 422. */
  @IsOptional()
  @IsIn(['available'], { message: 'must be "available"' })
  @ApiProperty({ enum: ['available'], enumName: 'DebitTake', example: 'available', required: false })
  readonly take?: 'available';
}

/** What a debit has as a grant has it. */
const AS_GRANT = [
  ...(['id', 'wallet_id', 'document', 'note', 'store', 'metadata', 'created_at', 'created_by'] as const),
  ...(['voided_at', 'voided_by', 'void_reason'] as const),
] as const;

/** A debit in its current state. */
@InOrder(
  ...['id', 'external_id', 'wallet_id', 'document', 'amount', 'requested_amount', 'take', 'restored', 'not_restored'],
  ...['reason', 'note', 'store', 'metadata', 'created_at', 'created_by', 'voided_at', 'voided_by', 'void_reason'],
)
export class DebitDto extends PickType(GrantDto, AS_GRANT) {
  /** @example FIX-1 */
  readonly external_id!: string;

  /**
   * What was taken.
   * @example "80.00"
   */
  @ApiMoney()
  readonly amount!: string;

  /**
   * What the request asked for: more than `amount` only with `take`.
   * @example "80.00"
   */
  @ApiMoney()
  readonly requested_amount!: string;

  /** Whether less could be taken. */
  @ApiProperty({ enum: ['available'], enumName: 'DebitTake', nullable: true, example: null })
  readonly take!: 'available' | null;

  /**
   * What voids restored.
   * @example "0.00"
   */
  @ApiMoney()
  readonly restored!: string;

  /**
   * Once it is voided, what was not restored: what had expired meanwhile, what refunds of its order had counted, or
   * what a correction of its customer left behind.
   * @example "0.00"
   */
  @ApiMoney()
  readonly not_restored!: string;

  /** Null after the customer was erased. */
  @ApiProperty({ type: String, nullable: true, example: 'Granted twice' })
  readonly reason!: string | null;
}

/** A page of debits, newest first. */
export class DebitPageDto extends PageOf(DebitDto) {}

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
