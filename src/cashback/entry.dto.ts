import { IsOptional } from 'class-validator';
import { Column } from '../platform/http/csv.js';
import { CreatedQueryDto, PageOf } from '../platform/http/page-query.dto.js';
import { IsCallerId, IsQueryWords } from '../platform/http/validators.js';
import { ApiId, InOrder } from '../platform/openapi/decorators.js';
import { ENTRY_KINDS, type EntryKind } from './entry.entity.js';
import { EntryDto } from './wallet.dto.js';

/** Filters for ledger entries. With `kind` or `store`, a page can be empty although more follow. */
export class ListLedgerDto extends CreatedQueryDto {
  /** One or more kinds, separated by commas. */
  @IsOptional()
  @IsQueryWords(Object.keys(ENTRY_KINDS))
  readonly kind?: EntryKind[];

  /** Where it happened. */
  @IsOptional()
  @IsCallerId()
  readonly store?: string;
}

/** A ledger entry with its customer. */
@InOrder('wallet_id', 'document')
export class CustomerEntryDto extends EntryDto {
  @ApiId()
  readonly wallet_id!: string;

  /**
   * The taxpayer number; a UUID in its place for a customer who was erased.
   * @example "52998224725"
   */
  readonly document!: string;
}

/** A page of all customers' ledger entries, newest first. */
export class CustomerEntryPageDto extends PageOf(CustomerEntryDto) {}

/** The columns of the list as CSV. */
export const ENTRY_COLUMNS: readonly Column[] = [
  ...(['created_at', 'document', 'kind', 'amount', 'balance', 'debt', 'store', 'source.store', 'source.type'] as const),
  ...(['source.external_id', 'order_external_id', 'refund_external_id', 'debit_external_id', 'reason'] as const),
  ...(['by.name', 'effective_at', 'wallet_id'] as const),
];
