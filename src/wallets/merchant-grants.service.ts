import { Injectable } from '@nestjs/common';
import { GrantsService } from '../cashback/grants.service.js';
import type { CreateGrantDto, GrantDto } from './dto/grant.dto.js';
import { readGrant, toGrantDto } from './grant.mapper.js';

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
    const { credit, replayed } = await this.grants.grant(merchantId, readGrant(request));
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
