import { Injectable } from '@nestjs/common';
import type { GrantOptions } from '../cashback/grant-content.js';
import { GrantsService } from '../cashback/grants.service.js';
import { parseMoney } from '../common/money.js';
import type { CreateGrantDto, GrantDto } from './dto/grant.dto.js';
import { toGrantDto } from './grant.mapper.js';

/** Grants as merchants see them. */
@Injectable()
export class MerchantGrantsService {
  constructor(private readonly grants: GrantsService) {}

  /**
   * Grants cashback, or replays the grant with this `external_id`.
   *
   * @throws Problem validation_failed if it would never be available; external_id_conflict.
   */
  async create(merchantId: string, request: CreateGrantDto): Promise<{ grant: GrantDto; replayed: boolean }> {
    const { document, amount, external_id: externalId, reason, available_on: availableOn, expires_on } = request;
    const options: GrantOptions = {
      externalId,
      ...(reason !== undefined && { reason }),
      ...(availableOn !== undefined && { availableOn }),
      ...(expires_on !== undefined && { expiresOn: expires_on }),
    };
    const { credit, replayed } = await this.grants.grant(merchantId, document, parseMoney(amount), options);
    return { grant: await this.get(merchantId, credit.id), replayed };
  }

  /** @throws Problem not_found, also for a grant of another merchant. */
  async get(merchantId: string, id: string): Promise<GrantDto> {
    return toGrantDto(await this.grants.get(merchantId, id));
  }

  /** Takes back what is left of a grant. @throws Problem not_found, also for a grant of another merchant. */
  async void(merchantId: string, id: string): Promise<GrantDto> {
    return toGrantDto(await this.grants.void(merchantId, id));
  }
}
