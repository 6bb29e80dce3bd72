import { Injectable } from '@nestjs/common';
import { readUserNames } from '../auth/user-names.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { decodeCursor, pageOf, type Condition } from '../platform/database/pages.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { beforeIdsOf } from '../platform/values/ids.js';
import { Clock } from '../platform/values/time.js';
import { type GrantPageDto, type ListGrantsDto, toGrantDto } from './grant.dto.js';
import { readGrantStates } from './grants.service.js';

const LIST = 'grants';

@Injectable()
export class GrantListingService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
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
    const [sql, ...parameters] = idsOf(merchantId, filter);
    return this.unitOfWork.snapshot(async (manager) => {
      const found = await manager.query<{ creditId: string }[]>(sql, parameters);
      const { page, next_cursor } = pageOf(LIST, found, filter.limit, ({ creditId }) => [creditId]);
      const keys = page.map(({ creditId }) => ({ merchantId, creditId }));
      const states = await readGrantStates(manager, keys, timeZone, this.clock.now(merchantId));
      const authors = states.flatMap(({ grant }) => [grant.createdBy, grant.voidedBy]);
      const whoIs = await readUserNames(manager, authors);
      return { data: states.map((state) => toGrantDto(state, whoIs)), next_cursor };
    });
  }
}

/** Reads one range of an index from its end. The IDs of grants begin with the instant of their creation. */
function idsOf(merchantId: string, filter: ListGrantsDto): Condition {
  const { external_id: externalId, user_id: userId, created_from: from, created_to: to, limit, cursor } = filter;
  const conditions: Condition[] = [['merchant_id = ?', merchantId]];
  let index = 'ix_cashback_grants_merchant';
  if (userId !== undefined) {
    conditions.push(['created_by = ?', userId.toLowerCase()]);
    index = 'ix_cashback_grants_user';
  }
  if (externalId !== undefined) {
    conditions.push(['external_id = ?', Buffer.from(externalId)]);
    index = 'uq_cashback_grants_external_id';
  }
  if (from !== undefined) conditions.push(['credit_id >= ?', beforeIdsOf(new Date(from))]);
  if (to !== undefined) conditions.push(['credit_id < ?', beforeIdsOf(new Date(to))]);
  if (cursor !== undefined) conditions.push(['credit_id < ?', ...decodeCursor(LIST, cursor, ['string'])]);
  return [
    `SELECT credit_id AS creditId FROM cashback_grants FORCE INDEX (${index})
      WHERE ${conditions.map(([condition]) => condition).join(' AND ')} ORDER BY credit_id DESC LIMIT ?`,
    ...conditions.flatMap(([, ...parameters]) => parameters),
    limit + 1,
  ];
}
