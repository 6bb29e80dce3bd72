import { type Type } from '@nestjs/common';
import { ApiProperty, OmitType, PartialType } from '@nestjs/swagger';
import { IsOptional, isTimeZone } from 'class-validator';
import { memberOf, type Presented } from '../platform/http/present.js';
import { moneyFault, rule } from '../platform/http/validators.js';
import { InOrder } from '../platform/openapi/decorators.js';
import {
  AMOUNT_PATTERN,
  formatMoney,
  formatRate,
  parseMoney,
  parseRate,
  RATE_PATTERN,
} from '../platform/values/money.js';
import { type FaultOf, textFault } from '../platform/values/texts.js';
import { type DatedVersion } from './policy-version.entity.js';
import { isSamePaymentMethod, type Policy, type Rule, RULE_ENTRIES } from './policy.js';

/** How callers write and read the values of a kind of rules. */
interface Kind {
  faultOf: (rule: Rule) => FaultOf;
  read: (value: never) => unknown;
  show: (value: never) => unknown;
  schema: { type: unknown; [keyword: string]: unknown };
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

/** Lets callers send rules: validates each member of a DTO that is named like a rule. All are optional. */
export function AcceptsRules(): ClassDecorator {
  return ({ prototype }) => {
    for (const [name, { kind, ...of }] of RULE_ENTRIES)
      for (const decorate of [IsOptional(), rule(`is_${memberOf(name)}`, KINDS[kind].faultOf({ kind, ...of }))])
        decorate(prototype as object, memberOf(name));
  };
}

/** Reads rules whose members have been validated individually. */
export function readRules(given: Partial<Members>): Partial<Policy> {
  const sent = RULE_ENTRIES.flatMap(([name, { kind }]) => {
    const value: unknown = given[memberOf(name)];
    return value === undefined ? [] : [[name, KINDS[kind].read(value as never)]];
  });
  return Object.fromEntries(sent) as Partial<Policy>;
}

/** Builds the response for some rules. */
const toMembers = (rules: Partial<Policy>): Partial<Members> =>
  Object.fromEntries(
    RULE_ENTRIES.flatMap(([name, rule]) => (name in rules ? [[memberOf(name), show(rule, rules[name])]] : [])),
  );

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
export const toUpcomingDto = ({ fromDay, throughDay, beginsAt, changes }: DatedVersion): UpcomingPolicyDto => ({
  from: fromDay,
  through: throughDay,
  begins_at: beginsAt,
  changes: toMembers(changes),
});

/** Builds the response for a policy. */
export const toPolicyDto = (policy: Policy): PolicyDto => toMembers(policy) as Members;
