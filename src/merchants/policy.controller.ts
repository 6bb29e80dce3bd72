import { Get } from '@nestjs/common';
import { MerchantController, MerchantId, Requires } from '../platform/http/decorators.js';
import { ApiProblems } from '../platform/openapi/decorators.js';
import { Clock } from '../platform/values/time.js';
import { MerchantsService } from './merchants.service.js';
import { type CurrentPolicyDto, toPolicyDto, toUpcomingDto } from './policy.dto.js';

@MerchantController('policy', 'orders')
export class PolicyController {
  constructor(
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Read the cashback rules
   *
   * @remarks Returns the merchant's rules for new orders, at most a second old: those of today, the campaign that they
   * are from and the rules without it, and the rules for some days that are still to come. An existing order keeps the
   * rules that it was quoted with.
   */
  @Get()
  @Requires()
  @ApiProblems('missing_token', 'invalid_token')
  async getPolicy(@MerchantId() merchantId: string): Promise<CurrentPolicyDto> {
    const now = this.clock.now(merchantId);
    const { policy, versions } = await this.merchants.rulesOf(merchantId, now);
    const running = versions.find(({ beginsAt }) => beginsAt <= now);
    const upcoming = versions.filter(({ beginsAt }) => beginsAt > now);
    return {
      ...toPolicyDto({ ...policy, ...running?.changes }),
      campaign: running === undefined ? null : { from: running.fromDay, through: running.throughDay },
      base: toPolicyDto(policy),
      upcoming: upcoming.map(toUpcomingDto),
    };
  }
}
