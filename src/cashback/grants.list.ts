import { type Condition, type IndexRange, list } from '../platform/database/lists.js';
import { type ListOf } from '../platform/database/reads.js';
import { beforeIdsOf } from '../platform/values/ids.js';
import { type GrantDto, type MadeQueryDto, toGrantDto } from './grant.dto.js';
import { Grant } from './grant.entity.js';
import { readGrantStates } from './grants.service.js';

const INDEXES = ['ix_cashback_grants_merchant', 'ix_cashback_grants_user', 'uq_cashback_grants_external_id'] as const;

/** The merchant's grants, newest first. */
export const GRANTS: ListOf<MadeQueryDto, GrantDto> = ({ manager, query, timeZone, now }) =>
  list({
    name: 'grants',
    entity: Grant,
    isSmall: true,
    order: 'DESC',
    ranges: [madeRange(query, 'credit_id', INDEXES)],
    present: async (grants) => (await readGrantStates(manager, grants, timeZone, now)).map(toGrantDto),
  });

/**
 * Returns where the rows of a query are. Their IDs begin with the instant of their creation.
 *
 * @param id the column of the ID.
 * @param indexes of the merchant's rows, of those of a user, and of external IDs.
 */
export function madeRange(
  { external_id, user_id, created_from: from, created_to: to }: MadeQueryDto,
  id: string,
  [all, ofUser, byExternalId]: readonly [string, string, string],
): IndexRange {
  const prefix: Condition[] = [];
  if (user_id !== undefined) prefix.push(['created_by = ?', user_id]);
  if (external_id !== undefined) prefix.push(['external_id = ?', Buffer.from(external_id)]);
  if (from !== undefined) prefix.push([`${id} >= ?`, beforeIdsOf(new Date(from))]);
  if (to !== undefined) prefix.push([`${id} < ?`, beforeIdsOf(new Date(to))]);
  return { index: external_id !== undefined ? byExternalId : user_id === undefined ? all : ofUser, prefix };
}
