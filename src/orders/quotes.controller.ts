import { Body, Get, HttpCode, Post } from '@nestjs/common';
import { Requires } from '../auth/caller.guard.js';
import { MerchantController } from '../auth/merchant-controller.js';
import { Clock } from '../common/clock.js';
import { Config } from '../config/config.js';
import { ApiProblems } from '../openapi/decorators.js';
import { MerchantId } from '../http/decorators.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { CurrentPolicyDto } from './dto/policy.dto.js';
import { CreateQuoteDto, QuoteDto } from './dto/quote.dto.js';
import { toPolicyDto, toUpcomingDto } from './order.mapper.js';
import { QuotesService } from './quotes.service.js';

@MerchantController('quotes', 'orders')
export class QuotesController {
  constructor(private readonly quotes: QuotesService) {}

  /**
   * Quote an order
   *
   * @remarks Returns the cashback that an order would redeem and earn, and creates nothing. Without `document`, for
   * example on a product page, `to_redeem` is null. A quote is not binding: an order has its own.
   */
  @Post()
  @Requires('sell')
  @HttpCode(200)
  @ApiProblems.query(
    'payments_exceed_total',
    'earn_amount_exceeds_maximum',
    'redemption_below_minimum',
    'redemption_exceeds_maximum',
  )
  createQuote(@MerchantId() merchantId: string, @Body() body: CreateQuoteDto): Promise<QuoteDto> {
    return this.quotes.quote(merchantId, body);
  }
}

@MerchantController('policy', 'orders')
export class PolicyController {
  constructor(
    private readonly merchants: MerchantsService,
    private readonly config: Config,
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
      ...toPolicyDto({ ...policy, ...running?.changes }, this.config),
      campaign: running === undefined ? null : { from: running.fromDay, through: running.throughDay },
      base: toPolicyDto(policy, this.config),
      upcoming: upcoming.map((version) => toUpcomingDto(version, policy, this.config)),
    };
  }
}
