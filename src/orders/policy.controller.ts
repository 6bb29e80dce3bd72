import { Controller, Get } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { Caller } from '../common/caller.js';
import { CurrentCaller } from '../http/caller.js';
import { ApiProblems } from '../http/api-problems.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { REQUESTS } from '../rate-limits/policies.js';
import { RateLimit } from '../rate-limits/rate-limit.guard.js';
import { PolicyDto } from './dto/policy.dto.js';
import { toPolicyDto } from './policy.mapper.js';

@ApiTags('orders')
@ApiBearerAuth()
@Controller('policy')
@RateLimit(REQUESTS)
export class PolicyController {
  constructor(private readonly merchants: MerchantsService) {}

  /**
   * Read the cashback rules
   *
   * @remarks Returns the merchant's rules for new orders, at most a second old. An existing order keeps the rules that
   * it was quoted with.
   */
  @Get()
  @ApiProblems('missing_token', 'invalid_token')
  async getPolicy(@CurrentCaller() { merchantId }: Caller): Promise<PolicyDto> {
    return toPolicyDto(await this.merchants.policyOf(merchantId));
  }
}
