import { Body, Delete, Get, HttpCode, Patch, Post, Put, Query, Res } from '@nestjs/common';
import { type Response } from 'express';
import { Reads } from '../platform/database/reads.js';
import { LocksRows } from '../platform/http/admission.js';
import { answer, markCreated } from '../platform/http/app-request.js';
import {
  CurrentCaller,
  IdParam,
  IfMatch,
  MerchantController,
  MerchantId,
  Requires,
} from '../platform/http/decorators.js';
import { PageQueryDto } from '../platform/http/page-query.dto.js';
import { ApiCreated, ApiProblems, ApiReplays } from '../platform/openapi/decorators.js';
import { type Caller } from '../platform/values/caller.js';
import { Clock } from '../platform/values/time.js';
import { CampaignDto, CampaignPageDto, readCampaign, RequestCampaignDto, toCampaignDto } from './campaign.dto.js';
import { CAMPAIGN, CAMPAIGNS, POLICY_HISTORY } from './campaigns.list.js';
import { CampaignsService } from './campaigns.service.js';
import { MerchantsService } from './merchants.service.js';
import { ChangePolicyDto, CurrentPolicyDto, PolicyHistoryDto, readRules, toCurrentDto } from './policy.dto.js';

@MerchantController('policy', 'policy')
export class PolicyController {
  constructor(
    private readonly merchants: MerchantsService,
    private readonly reads: Reads,
    private readonly clock: Clock,
  ) {}

  /**
   * Read the cashback rules
   *
   * @remarks Returns the merchant's rules for new orders, at most a second old: those of now, the campaign that they
   * are from and the rules without it, and the campaigns to come. An existing order keeps the rules that it was quoted
   * with.
   */
  @Get()
  @Requires()
  @ApiProblems('missing_token', 'invalid_token')
  async getPolicy(@MerchantId() merchantId: string): Promise<CurrentPolicyDto> {
    const now = this.clock.now(merchantId);
    return toCurrentDto(await this.merchants.rulesOf(merchantId, now), now);
  }

  /**
   * Change the cashback rules
   *
   * @remarks Changes the rules that hold without a campaign: only the members that you send. Existing orders keep their
   * rules. What the operator alone sets cannot be changed here, and rates and shares stay below its ceilings.
   */
  @Patch()
  @Requires('rules')
  @LocksRows()
  @ApiReplays()
  @ApiProblems('validation_failed', 'policy_changed')
  async changePolicy(
    @CurrentCaller() { merchantId, apiUserId: by }: Caller,
    @Body() { reason, ...rules }: ChangePolicyDto,
    @IfMatch() versions: readonly string[] | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CurrentPolicyDto> {
    const { replayed } = await this.merchants.set(merchantId, { policy: readRules(rules) }, { by, reason, versions });
    return answer(response, { dto: await this.getPolicy(merchantId), replayed });
  }

  /**
   * List the versions of the cashback rules
   *
   * @remarks Returns what was changed of the rules that hold without a campaign, by whom, when and why, newest first.
   */
  @Get('history')
  @Requires()
  @ApiProblems.query()
  listPolicyVersions(@MerchantId() merchantId: string, @Query() query: PageQueryDto): Promise<PolicyHistoryDto> {
    return this.reads.page(merchantId, query, POLICY_HISTORY);
  }
}

@MerchantController('campaigns', 'campaigns')
export class CampaignsController {
  constructor(
    private readonly campaigns: CampaignsService,
    private readonly reads: Reads,
  ) {}

  /**
   * Create a campaign
   *
   * @remarks Changes rules for whole days, over the rules of the moment. It begins at the midnight of its first day or,
   * if that was before, in a minute. The days of two campaigns do not overlap. The same campaign again returns 201 with
   * it and `Idempotency-Replayed: true`.
   */
  @Post()
  @Requires('rules')
  @LocksRows()
  @ApiCreated(CampaignDto, 'The campaign')
  @ApiProblems('validation_failed')
  async createCampaign(
    @CurrentCaller() { merchantId, apiUserId }: Caller,
    @Body() body: RequestCampaignDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CampaignDto> {
    const { campaign, now, replayed } = await this.campaigns.create(merchantId, readCampaign(body), apiUserId);
    markCreated(response, `/campaigns/${campaign.id}`, replayed);
    return toCampaignDto(campaign, now);
  }

  /**
   * List campaigns
   *
   * @remarks Returns the merchant's campaigns, newest first, one page at a time. Continue with `next_cursor` until it
   * is null.
   */
  @Get()
  @Requires()
  @ApiProblems.query()
  listCampaigns(@MerchantId() merchantId: string, @Query() query: PageQueryDto): Promise<CampaignPageDto> {
    return this.reads.page(merchantId, query, CAMPAIGNS);
  }

  /**
   * Read a campaign
   *
   * @remarks A campaign of another merchant returns 404.
   */
  @Get(':id')
  @Requires()
  @ApiProblems.read()
  getCampaign(@MerchantId() merchantId: string, @IdParam('The campaign') id: string): Promise<CampaignDto> {
    return this.reads.read(merchantId, { id }, CAMPAIGN);
  }

  /**
   * Change a campaign
   *
   * @remarks Replaces its content. A campaign that has begun keeps its first day, and its rules change in a minute.
   */
  @Put(':id')
  @Requires('rules')
  @LocksRows()
  @ApiReplays()
  @ApiProblems.read('validation_failed', 'campaign_status_conflict')
  async changeCampaign(
    @CurrentCaller() { merchantId, apiUserId }: Caller,
    @IdParam('The campaign') id: string,
    @Body() body: RequestCampaignDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CampaignDto> {
    const { campaign, now, replayed } = await this.campaigns.update(merchantId, id, readCampaign(body), apiUserId);
    return answer(response, { dto: toCampaignDto(campaign, now), replayed });
  }

  /**
   * Delete a campaign
   *
   * @remarks Removes a campaign that has not begun.
   */
  @Delete(':id')
  @Requires('rules')
  @LocksRows()
  @HttpCode(204)
  @ApiProblems.read('campaign_status_conflict')
  deleteCampaign(@MerchantId() merchantId: string, @IdParam('The campaign') id: string): Promise<void> {
    return this.campaigns.remove(merchantId, id);
  }

  /**
   * End a campaign
   *
   * @remarks Ends a campaign that runs, in a minute. Existing orders keep its rules. A repeated request changes
   * nothing.
   */
  @Post(':id/end')
  @Requires('rules')
  @LocksRows()
  @ApiReplays()
  @HttpCode(200)
  @ApiProblems.read('campaign_status_conflict')
  async endCampaign(
    @CurrentCaller() { merchantId, apiUserId }: Caller,
    @IdParam('The campaign') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CampaignDto> {
    const { campaign, now, replayed } = await this.campaigns.end(merchantId, id, apiUserId);
    return answer(response, { dto: toCampaignDto(campaign, now), replayed });
  }
}
