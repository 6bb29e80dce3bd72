import { type Condition, type IndexRange, list } from '../platform/database/lists.js';
import { type ListOf } from '../platform/database/reads.js';
import { beforeIdsOf } from '../platform/values/ids.js';
import { type GrantDto, type ListGrantsDto, toGrantDto } from './grant.dto.js';
import { Grant } from './grant.entity.js';
import { readGrantStates } from './grants.service.js';

/** The merchant's grants, newest first. */
export const GRANTS: ListOf<ListGrantsDto, GrantDto> = ({ manager, query, timeZone, now }) =>
  list({
    name: 'grants',
    entity: Grant,
    isSmall: true,
    order: 'DESC',
    ranges: [rangeOf(query)],
    present: async (grants) => (await readGrantStates(manager, grants, timeZone, now)).map(toGrantDto),
  });

/** The IDs of grants begin with the instant of their creation. */
function rangeOf({ external_id, user_id, created_from: from, created_to: to }: ListGrantsDto): IndexRange {
  const prefix: Condition[] = [];
  if (user_id !== undefined) prefix.push(['created_by = ?', user_id]);
  if (external_id !== undefined) prefix.push(['external_id = ?', Buffer.from(external_id)]);
  if (from !== undefined) prefix.push(['credit_id >= ?', beforeIdsOf(new Date(from))]);
  if (to !== undefined) prefix.push(['credit_id < ?', beforeIdsOf(new Date(to))]);
  if (external_id !== undefined) return { index: 'uq_cashback_grants_external_id', prefix };
  return { index: user_id === undefined ? 'ix_cashback_grants_merchant' : 'ix_cashback_grants_user', prefix };
}
