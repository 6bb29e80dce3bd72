import { list } from '../platform/database/lists.js';
import { type Asked, type ListOf } from '../platform/database/reads.js';
import { type DebitDto, toDebitDto } from './debit.dto.js';
import { Debit } from './debit.entity.js';
import { type MadeQueryDto } from './grant.dto.js';
import { madeRange } from './grants.list.js';
import { readDocuments } from './wallet.entity.js';

const INDEXES = ['ix_debits_merchant', 'ix_debits_user', 'uq_debits_external_id'] as const;

/** The merchant's debits, newest first. */
export const DEBITS: ListOf<MadeQueryDto, DebitDto> = (asked) =>
  list({
    name: 'debits',
    entity: Debit,
    isSmall: true,
    order: 'DESC',
    ranges: [madeRange(asked.query, 'id', INDEXES)],
    present: (debits) => toDebitDtos(asked, debits),
  });

export async function toDebitDtos(
  asked: Pick<Asked, 'manager' | 'merchantId'>,
  debits: readonly Debit[],
): Promise<DebitDto[]> {
  const documents = await readDocuments(asked, debits);
  return debits.map((debit) => toDebitDto(debit, documents.get(debit.walletId)!));
}
