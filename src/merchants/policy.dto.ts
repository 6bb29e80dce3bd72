import { type Type } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { ApiProperty, PartialType, PickType } from '@nestjs/swagger';
import { IsOptional, isTimeZone } from 'class-validator';
import { type ByDto, byOf } from '../platform/http/by.dto.js';
import { PageOf } from '../platform/http/page-query.dto.js';
import { type Presented } from '../platform/http/present.js';
import { Nullable } from '../platform/http/to-dto.js';
import { IsText, moneyFault, rule } from '../platform/http/validators.js';
import { ApiId, InOrder } from '../platform/openapi/decorators.js';
import {
  AMOUNT_PATTERN,
  formatMoney,
  formatRate,
  MONEY_PATTERN,
  parseMoney,
  parseRate,
  RATE_PATTERN,
} from '../platform/values/money.js';
import { memberOf } from '../platform/values/names.js';
import { type FaultOf, textFault } from '../platform/values/texts.js';
import { type DatedVersion, versionAt } from './campaign.entity.js';
import { type PolicyBase } from './merchant.entity.js';
import { type Rules } from './merchants.service.js';
import { BASE_RULES, CAMPAIGN_RULES, isSamePaymentMethod, type Policy, type Rule, RULE_ENTRIES } from './policy.js';

/** How callers write and read the values of a kind of rules. */
interface Kind {
  faultOf: (rule: Rule) => FaultOf;
  read: (value: never) => unknown;
  show: (value: never) => unknown;
  schema: { type: unknown; [keyword: string]: unknown };
  /** What requests can have instead. */
  pattern?: string;
}

const asIs = (value: unknown): unknown => value;

const rateFault: FaultOf = (value) =>
  typeof value === 'string' && RATE_PATTERN.test(value)
    ? undefined
    : 'must be a decimal string from "0" to "1", such as "0.05" for 5 %, with at most four decimals';

const MAX_METHODS = 50;
const methodFault = textFault('id', 100);

const ratesFault: FaultOf = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'must be an object of rates, such as {"pix":"0.07"}';
  const methods = Object.keys(value);
  if (methods.length > MAX_METHODS) return `has more than ${MAX_METHODS} members`;
  if (methods.some((one, at) => methods.slice(at + 1).some((other) => isSamePaymentMethod(one, other))))
    return 'has a payment method twice: upper and lower case are the same';
  const faults = Object.entries(value).map(([method, rate]) => methodFault(method) ?? rateFault(rate));
  return faults.find((fault) => fault !== undefined);
};

const ofEach =
  <From, To>(convert: (rate: From) => To) =>
  (rates: Record<string, From>): Record<string, To> =>
    Object.fromEntries(Object.entries(rates).map(([method, rate]) => [method, convert(rate)]));

const integerFault =
  ({ range: [low, high] = [0, Infinity] }: Rule): FaultOf =>
  (value) =>
    Number.isInteger(value) && Number(value) >= low && Number(value) <= high
      ? undefined
      : `must be a whole number from ${low} to ${high}`;

const zoneFault: FaultOf = (value) =>
  typeof value === 'string' && isTimeZone(value) ? undefined : 'must be an IANA time zone, such as "America/Sao_Paulo"';

const flagFault: FaultOf = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false');

const KINDS: Record<Rule['kind'], Kind> = {
  rate: { faultOf: () => rateFault, read: parseRate, show: formatRate, schema: { type: String } },
  rates: {
    faultOf: () => ratesFault,
    read: ofEach(parseRate),
    show: ofEach(formatRate),
    schema: { type: 'object', additionalProperties: { type: 'string' }, example: { pix: '0.07', boleto: '0.00' } },
  },
  money: {
    faultOf: () => moneyFault({ zero: true }),
    read: parseMoney,
    show: formatMoney,
    schema: { type: String, pattern: AMOUNT_PATTERN.source },
    pattern: MONEY_PATTERN.source,
  },
  integer: { faultOf: integerFault, read: asIs, show: asIs, schema: { type: 'integer' } },
  flag: { faultOf: () => flagFault, read: asIs, show: asIs, schema: { type: Boolean } },
  time_zone: { faultOf: () => zoneFault, read: asIs, show: asIs, schema: { type: String } },
};

/** How callers see a rule. */
const show = ({ kind }: Rule, value: unknown): unknown => (value === null ? null : KINDS[kind].show(value as never));

type Members = Omit<Presented<Policy>, 'earn_rates_by_payment_method'> & {
  earn_rates_by_payment_method: Record<string, string>;
};

/** The rules, whose members an instance has for `InOrder`. */
const RulesDto = class {
  constructor() {
    for (const [name] of RULE_ENTRIES) Object.assign(this, { [memberOf(name)]: undefined });
  }
} as unknown as Type<Readonly<Members>>;

for (const [name, rule] of RULE_ENTRIES) {
  const { schema } = KINDS[rule.kind];
  const shown = rule.default === null ? { type: schema.type, nullable: true } : schema;
  const documented = { description: rule.says, example: show(rule, rule.default), ...shown };
  ApiProperty(documented as object)(RulesDto.prototype as object, memberOf(name));
}

/** The cashback rules of a merchant. Rates and shares are decimal strings: "0.05" is 5 %. */
@InOrder()
export class PolicyDto extends RulesDto {}

/** Requests show what a rule that can be off is like. */
const OFF_EXAMPLES: Partial<Record<Rule['kind'], string>> = { money: '50.00', rate: '0.075' };

/**
 * Lets callers send rules: validates each member of a DTO that is named like one of them. All are optional; null turns
 * off what can be off.
 */
export function AcceptsRules(rules: readonly (readonly [keyof Policy, Rule])[] = RULE_ENTRIES): ClassDecorator {
  return ({ prototype }) => {
    for (const [name, { kind, ...of }] of rules)
      for (const decorate of [
        IsOptional(),
        rule(`is_${memberOf(name)}`, KINDS[kind].faultOf({ kind, ...of })),
        ...(of.default === null
          ? [Nullable(), ApiProperty({ ...KINDS[kind].schema, example: OFF_EXAMPLES[kind] } as object)]
          : []),
        ...(KINDS[kind].pattern === undefined ? [] : [ApiProperty({ pattern: KINDS[kind].pattern })]),
      ])
        decorate(prototype as object, memberOf(name));
  };
}

/** Reads rules whose members have been validated individually. */
export function readRules(given: Partial<Members>): Partial<Policy> {
  const sent = RULE_ENTRIES.flatMap(([name, { kind }]) => {
    const value: unknown = given[memberOf(name)];
    return value === undefined ? [] : [[name, value === null ? null : KINDS[kind].read(value as never)]];
  });
  return Object.fromEntries(sent) as Partial<Policy>;
}

/** Builds the response for some rules. */
const toMembers = (rules: Partial<Policy>): Partial<Members> =>
  Object.fromEntries(
    RULE_ENTRIES.flatMap(([name, rule]) => (name in rules ? [[memberOf(name), show(rule, rules[name])]] : [])),
  );

const membersOf = (rules: readonly (readonly [keyof Policy, Rule])[]) => rules.map(([name]) => memberOf(name));

/** What is different on the days of a campaign. */
@AcceptsRules(CAMPAIGN_RULES)
@InOrder(PolicyDto)
export class CampaignRulesDto extends PartialType(PickType(PolicyDto, membersOf(CAMPAIGN_RULES))) {}

/** What to change of the rules that hold without a campaign, and why. */
@AcceptsRules(BASE_RULES)
@InOrder(PolicyDto, 'reason')
export class ChangePolicyDto extends PartialType(PickType(PolicyDto, membersOf(BASE_RULES))) {
  /**
   * Why, for the history of the rules: at most 500 characters.
   * @example "Christmas rates"
   */
  @IsText('reason', 500)
  readonly reason!: string;
}

/** Some of the rules. */
@InOrder(PolicyDto)
export class RulesSetDto extends PartialType(PolicyDto) {}

/** A campaign, as `GET /policy` names it. */
export class CampaignDaysDto {
  @ApiId()
  readonly id!: string;

  @ApiProperty({ example: 'Black Friday' })
  readonly name!: string;

  /**
   * The first day, in the merchant's time zone.
   * @example "2027-11-26"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly from!: string;

  /**
   * The last day.
   * @example "2027-11-28"
   */
  @ApiProperty({ type: String, format: 'date' })
  readonly through!: string;
}

/** A campaign that is to come. */
export class UpcomingCampaignDto extends CampaignDaysDto {
  /** When it begins: at the beginning of the first day or, if it was stored later, a minute after that. */
  readonly begins_at!: Date;

  /** Only what is different. */
  readonly rules!: RulesSetDto;
}

/** The rules for new orders now, why they hold, and the campaigns to come. */
export class CurrentPolicyDto extends PolicyDto {
  /** The version of `base`, for the `If-Match` of `PATCH /policy`. */
  @ApiProperty({ type: 'integer', minimum: 1, example: 1 })
  readonly version!: number;

  /** The campaign whose rules hold now; null if none does. */
  @ApiProperty({ type: CampaignDaysDto, nullable: true })
  readonly campaign!: CampaignDaysDto | null;

  /** The rules that hold without a campaign. */
  readonly base!: PolicyDto;

  readonly upcoming!: UpcomingCampaignDto[];
}

/** A version of the rules that hold without a campaign. */
@InOrder()
export class PolicyVersionDto {
  /** From 1 without gaps. */
  @ApiProperty({ type: 'integer', minimum: 1, example: 2 })
  readonly version!: number;

  /** Since when it holds. */
  readonly since!: Date;

  readonly by!: ByDto;

  /** Null for a change by the operator without a reason. */
  @ApiProperty({ type: String, nullable: true, example: 'Christmas rates' })
  readonly reason!: string | null;

  /** What is different from the version before; all rules of the first version. */
  readonly changes!: RulesSetDto;
}

/** A page of versions, newest first. */
export class PolicyHistoryDto extends PageOf(PolicyVersionDto) {}

export const toDaysDto = ({ id, name, fromDay: from, throughDay: through }: DatedVersion): CampaignDaysDto => ({
  ...{ id, name, from, through },
});

/** Builds the response for rules: only those that there are. */
export const toRulesDto = (rules: Partial<Policy>): RulesSetDto => toMembers(rules);

/** Builds the response for a policy. */
export const toPolicyDto = (policy: Policy): PolicyDto => toMembers(policy) as Members;

/** Builds the response for the rules of an instant. */
export function toCurrentDto({ policy, version, campaigns }: Rules, now: Date): CurrentPolicyDto {
  const running = versionAt(campaigns, now);
  const upcoming = campaigns.filter((campaign) => campaign.statusAt(now) === 'upcoming');
  return {
    ...toPolicyDto({ ...policy, ...running?.changes }),
    version,
    campaign: running === undefined ? null : toDaysDto(running),
    base: toPolicyDto(policy),
    upcoming: upcoming.map(({ first, latest }) => {
      return { ...toDaysDto(latest), begins_at: first.beginsAt, rules: toRulesDto(latest.changes) };
    }),
  };
}

const changesOf = (before: Policy, policy: Policy): Partial<Policy> =>
  Object.fromEntries(
    Object.entries(policy).filter(([name, value]) => !isDeepStrictEqual(value, before[name as never])),
  );

/** @param before undefined for the first version. */
export function toVersionDto(
  { version, policy, storedAt, storedBy, reason }: PolicyBase,
  before: PolicyBase | undefined,
): PolicyVersionDto {
  const changed = before === undefined ? policy : changesOf(before.policy, policy);
  return { version, since: storedAt, by: byOf(storedBy), reason, changes: toRulesDto(changed) };
}
