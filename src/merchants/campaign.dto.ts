import { ApiProperty } from '@nestjs/swagger';
import { ByDto, byOf } from '../platform/http/by.dto.js';
import { PageOf } from '../platform/http/page-query.dto.js';
import { IsDay, IsObjectOf, IsText } from '../platform/http/validators.js';
import { InOrder } from '../platform/openapi/decorators.js';
import { type Campaign, CAMPAIGN_STATUSES, type CampaignStatus, type RequestedCampaign } from './campaign.entity.js';
import { withRates } from './campaigns.service.js';
import { CampaignRulesDto, readRules, toDaysDto, toRulesDto, UpcomingCampaignDto } from './policy.dto.js';

/** Rules for some days. */
export class RequestCampaignDto {
  /**
   * What staff call it, at most 100 characters.
   * @example "Black Friday"
   */
  @IsText('name', 100)
  readonly name!: string;

  /**
   * The first day, in the merchant's time zone: today or later.
   * @example "2027-11-26"
   */
  @IsDay()
  readonly from!: string;

  /**
   * The last day.
   * @example "2027-11-28"
   */
  @IsDay()
  readonly through!: string;

  /** What is different on these days. An `earn_rate` also replaces all rates by payment method. */
  @IsObjectOf(() => CampaignRulesDto)
  @ApiProperty({ example: { earn_rate: '0.10', earn_minimum_total: '100.00', earn_maximum: '50.00' } })
  readonly rules!: CampaignRulesDto;
}

/** A campaign: rules that hold on some days, over those that hold without it. */
@InOrder()
export class CampaignDto extends UpcomingCampaignDto {
  @ApiProperty({ enum: CAMPAIGN_STATUSES, enumName: 'CampaignStatus', example: 'upcoming' })
  readonly status!: CampaignStatus;

  /** When it ends: after the last day, or when it was ended. */
  readonly ends_at!: Date;

  readonly created_at!: Date;
  readonly created_by!: ByDto;

  /** When its days or rules were last changed. */
  readonly changed_at!: Date;
  readonly changed_by!: ByDto;

  /** Who ended it before its last day was over; null if nobody did. */
  @ApiProperty({ type: ByDto, nullable: true, example: null })
  readonly ended_by!: ByDto | null;
}

/** A page of campaigns, newest first. */
export class CampaignPageDto extends PageOf(CampaignDto) {}

/** Reads a campaign whose members have been validated individually. */
export const readCampaign = ({ name, from, through, rules }: RequestCampaignDto): RequestedCampaign => ({
  ...{ name, fromDay: from, throughDay: through },
  changes: withRates(readRules(rules)),
});

export function toCampaignDto(campaign: Campaign, now: Date): CampaignDto {
  const { first, latest } = campaign;
  return {
    ...toDaysDto(latest),
    begins_at: first.beginsAt,
    rules: toRulesDto(latest.changes),
    status: campaign.statusAt(now),
    ends_at: latest.endsAt,
    created_at: campaign.madeAt,
    created_by: byOf(campaign.madeBy),
    changed_at: latest.storedAt,
    changed_by: byOf(latest.createdBy),
    ended_by: byOf(latest.endedBy),
  };
}
