import { Injectable } from '@nestjs/common';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type Condition, IndexRange, Lists } from '../platform/database/lists.js';
import { beforeIdsOf } from '../platform/values/ids.js';
import { Clock } from '../platform/values/time.js';
import { GrantPageDto, ListGrantsDto, toGrantDto } from './grant.dto.js';
import { readGrantStates } from './grants.service.js';

@Injectable()
export class GrantListingService {
  constructor(
    private readonly lists: Lists,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns a page of the merchant's grants, newest first.
   *
   * @throws Problem validation_failed if the cursor is not one of this list.
   */
  async list(merchantId: string, filter: ListGrantsDto): Promise<GrantPageDto> {
    const { timeZone } = await this.merchants.policyOf(merchantId);
    return this.lists.page(merchantId, filter, () => ({
      name: 'grants',
      table: 'cashback_grants',
      id: 'credit_id',
      order: 'DESC',
      timeZone,
      ranges: [rangeOf(filter)],
      present: async (manager, found) => {
        const keys = found.map(({ id: creditId }) => ({ merchantId, creditId }));
        return (await readGrantStates(manager, keys, timeZone, this.clock.now(merchantId))).map(toGrantDto);
      },
    }));
  }
}

/** The IDs of grants begin with the instant of their creation. */
function rangeOf({ external_id, user_id, created_from: from, created_to: to }: ListGrantsDto): IndexRange {
  const prefix: Condition[] = [];
  if (user_id !== undefined) prefix.push(['created_by = ?', user_id.toLowerCase()]);
  if (external_id !== undefined) prefix.push(['external_id = ?', Buffer.from(external_id)]);
  if (from !== undefined) prefix.push(['credit_id >= ?', beforeIdsOf(new Date(from))]);
  if (to !== undefined) prefix.push(['credit_id < ?', beforeIdsOf(new Date(to))]);
  if (external_id !== undefined) return { index: 'uq_cashback_grants_external_id', prefix };
  return { index: user_id === undefined ? 'ix_cashback_grants_merchant' : 'ix_cashback_grants_user', prefix };
}
