import { type Config } from '../platform/config/config.js';
import { formatMoney, formatRate } from '../platform/values/money.js';
import { type Policy } from './policy.js';
import { type DatedVersion } from './policy-version.entity.js';
import { ApiProperty, OmitType, PartialType } from '@nestjs/swagger';
import { ApiMoney, InOrder } from '../platform/openapi/decorators.js';

/** The cashback rules of a merchant. Rates and shares are decimal strings: "0.05" is 5 %. */
@InOrder()
export class PolicyDto {
  /**
   * Share of the paid amount that is earned as cashback.
   * @example "0.05"
   */
  readonly earn_rate!: string;

  /**
   * Rates that replace `earn_rate` for single payment methods, by `payment_methods[].id`, ignoring ASCII case. "0.00"
   * excludes a method.
   */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: { pix: '0.07', boleto: '0.00' } })
  readonly earn_rates_by_payment_method!: Record<string, string>;

  /**
   * Orders below this total earn nothing.
   * @example "0.00"
   */
  @ApiMoney()
  readonly earn_minimum_total!: string;

  /** The most that one order earns; null if nothing limits it. */
  @ApiProperty({ type: String, nullable: true, example: null })
  readonly earn_maximum!: string | null;

  /** The share of an order's eligible total that it can ask to earn (`earn_amount`); null if it cannot. */
  @ApiProperty({ type: String, nullable: true, example: null })
  readonly earn_rate_maximum!: string | null;

  /**
   * Maximum share of an order's eligible total that can be redeemed.
   * @example "0.50"
   */
  readonly redeem_share!: string;

  /**
   * No cashback can be redeemed on orders below this total.
   * @example "0.00"
   */
  @ApiMoney()
  readonly redeem_minimum_total!: string;

  /**
   * The least that can be redeemed at once.
   * @example "0.00"
   */
  @ApiMoney()
  readonly redeem_minimum!: string;

  /**
   * Calendar days from completion until earned cashback is available.
   * @example 8
   */
  @ApiProperty({ type: 'integer' })
  readonly release_days!: number;

  /**
   * Calendar days for which cashback is then available.
   * @example 180
   */
  @ApiProperty({ type: 'integer' })
  readonly validity_days!: number;

  /**
   * Minutes until a pending order and its hold expire.
   * @example 30
   */
  @ApiProperty({ type: 'integer' })
  readonly order_ttl_minutes!: number;

  /**
   * Longest lifetime that an order can request, in minutes.
   * @example 10080
   */
  @ApiProperty({ type: 'integer' })
  readonly max_order_ttl_minutes!: number;

  /**
   * The most that `POST /grants` grants at once, in BRL.
   * @example "1000.00"
   */
  @ApiMoney()
  readonly grant_maximum!: string;

  /**
   * The most that an API user grants in a day of the merchant's time zone, in BRL. All together grant at most four
   * times as much.
   * @example "5000.00"
   */
  @ApiMoney()
  readonly grant_daily_maximum!: string;

  /**
   * The IANA time zone in which calendar days begin.
   * @example America/Sao_Paulo
   */
  readonly time_zone!: string;

  /**
   * Whether a document with wrong check digits is refused. The operator of the service decides it for all merchants.
   * @example false
   */
  readonly document_check_digits!: boolean;
}

/** What is different on some days. */
@InOrder(PolicyDto)
export class PolicyChangesDto extends PartialType(OmitType(PolicyDto, ['time_zone', 'document_check_digits'])) {}

/** The days that have rules of their own. */
@InOrder()
export class CampaignDto {
  /**
   * The first day, in the merchant's time zone.
   * @example "2026-11-27"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly from!: string;

  /**
   * The last day.
   * @example "2026-11-29"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly through!: string;
}

/** Rules for some days to come. */
@InOrder(CampaignDto)
export class UpcomingPolicyDto extends CampaignDto {
  /** When they begin: at the beginning of the first day or, if they were stored later, a minute after that. */
  readonly begins_at!: Date;

  /** Only what is different. */
  readonly changes!: PolicyChangesDto;
}

/** The rules for new orders now, why they hold, and the rules for days to come. */
export class CurrentPolicyDto extends PolicyDto {
  /** The campaign whose rules hold now, with its days; null if no day of a campaign is now. */
  readonly campaign!: CampaignDto | null;

  /** The rules that hold without a campaign. */
  readonly base!: PolicyDto;

  readonly upcoming!: UpcomingPolicyDto[];
}

/** Builds the response for rules of days to come: only what is different. */
export function toUpcomingDto(version: DatedVersion, policy: Policy, config: Config): UpcomingPolicyDto {
  const members = Object.keys(version.changes).map((name) =>
    name.replace(/(Bps|Cents)$/, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  const rules = Object.entries(toPolicyDto({ ...policy, ...version.changes }, config));
  return {
    from: version.fromDay,
    through: version.throughDay,
    begins_at: version.beginsAt,
    changes: Object.fromEntries(rules.filter(([name]) => members.includes(name))),
  };
}

/** Builds the response for a policy, with the setting that is the same for all merchants. */
export function toPolicyDto(policy: Policy, { DOCUMENT_CHECK_DIGITS }: Config): PolicyDto {
  const overrides = Object.entries(policy.earnRatesByPaymentMethod).map(([id, bps]) => [id, formatRate(bps)] as const);
  return {
    earn_rate: formatRate(policy.earnRateBps),
    earn_rates_by_payment_method: Object.fromEntries(overrides),
    earn_minimum_total: formatMoney(policy.earnMinimumTotalCents),
    earn_maximum: formatOptional(policy.earnMaximumCents),
    earn_rate_maximum: policy.earnRateMaximumBps === null ? null : formatRate(policy.earnRateMaximumBps),
    redeem_share: formatRate(policy.redeemShareBps),
    redeem_minimum_total: formatMoney(policy.redeemMinimumTotalCents),
    redeem_minimum: formatMoney(policy.redeemMinimumCents),
    release_days: policy.releaseDays,
    validity_days: policy.validityDays,
    order_ttl_minutes: policy.orderTtlMinutes,
    max_order_ttl_minutes: policy.maxOrderTtlMinutes,
    grant_maximum: formatMoney(policy.grantMaximumCents),
    grant_daily_maximum: formatMoney(policy.grantDailyMaximumCents),
    time_zone: policy.timeZone,
    document_check_digits: DOCUMENT_CHECK_DIGITS,
  };
}

const formatOptional = (cents: number | null): string | null => (cents === null ? null : formatMoney(cents));
