import { type Condition, type IndexRange, list } from '../platform/database/lists.js';
import { type Asked, type ListOf } from '../platform/database/reads.js';
import { beforeIdsOf } from '../platform/values/ids.js';
import { type DebitDto, type ListDebitsDto, toDebitDto } from './debit.dto.js';
import { Debit } from './debit.entity.js';
import { readDocuments } from './wallet.entity.js';

/** The merchant's debits, newest first. */
export const DEBITS: ListOf<ListDebitsDto, DebitDto> = (asked) =>
  list({
    name: 'debits',
    entity: Debit,
    isSmall: true,
    order: 'DESC',
    ranges: [rangeOf(asked.query)],
    present: (debits) => toDebitDtos(asked, debits),
  });

/** The IDs of debits begin with the instant of their creation. */
function rangeOf({ external_id, user_id, created_from: from, created_to: to }: ListDebitsDto): IndexRange {
  const prefix: Condition[] = [];
  if (user_id !== undefined) prefix.push(['created_by = ?', user_id]);
  if (external_id !== undefined) prefix.push(['external_id = ?', Buffer.from(external_id)]);
  if (from !== undefined) prefix.push(['id >= ?', beforeIdsOf(new Date(from))]);
  if (to !== undefined) prefix.push(['id < ?', beforeIdsOf(new Date(to))]);
  if (external_id !== undefined) return { index: 'uq_debits_external_id', prefix };
  return { index: user_id === undefined ? 'ix_debits_merchant' : 'ix_debits_user', prefix };
}

export async function toDebitDtos(
  asked: Pick<Asked, 'manager' | 'merchantId'>,
  debits: readonly Debit[],
): Promise<DebitDto[]> {
  const documents = await readDocuments(asked, debits);
  return debits.map((debit) => toDebitDto(debit, documents.get(debit.walletId)!));
}
