import { OmitType, PartialType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { isTimeZone } from '../../common/calendar-days.js';
import { parseMoney, parseRate, RATE_PATTERN } from '../../common/money.js';
import { type FaultOf, textFault } from '../../common/texts.js';
import { moneyFault, rule } from '../../http/validators.js';
import { isSamePaymentMethod, type Policy, POLICY_RANGES } from '../../merchants/policy.js';
import { InOrder } from '../../openapi/decorators.js';
import { PolicyDto } from '../../orders/dto/policy.dto.js';

/** A kind of values: what is wrong with one, and how the policy has it. */
type Kind = [faultOf: FaultOf, read: (value: never) => unknown];

const faultUnless =
  (isValid: (value: unknown) => boolean, fault: string): FaultOf =>
  (value) =>
    isValid(value) ? undefined : fault;

const rateFault = faultUnless(
  (value) => typeof value === 'string' && RATE_PATTERN.test(value),
  'must be a decimal string from "0" to "1", such as "0.05" for 5 %, with at most four decimals',
);

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

const ratesOf = (rates: Record<string, string>): Record<string, number> =>
  Object.fromEntries(Object.entries(rates).map(([method, rate]) => [method, parseRate(rate)]));

const RATE: Kind = [rateFault, parseRate];
const MONEY: Kind = [moneyFault({ zero: true }), parseMoney];
const asIs = <T>(value: T): T => value;
const integer = (low: number, high: number): Kind => [
  faultUnless(
    (value) => Number.isInteger(value) && Number(value) >= low && Number(value) <= high,
    `must be a whole number from ${low} to ${high}`,
  ),
  asIs,
];

const MEMBERS: Record<string, [name: keyof Policy, kind: Kind]> = {
  earn_rate: ['earnRateBps', RATE],
  earn_rates_by_payment_method: ['earnRatesByPaymentMethod', [ratesFault, ratesOf]],
  earn_minimum_total: ['earnMinimumTotalCents', MONEY],
  earn_maximum: ['earnMaximumCents', MONEY],
  earn_rate_maximum: ['earnRateMaximumBps', RATE],
  redeem_share: ['redeemShareBps', RATE],
  redeem_minimum_total: ['redeemMinimumTotalCents', MONEY],
  redeem_minimum: ['redeemMinimumCents', MONEY],
  release_days: ['releaseDays', integer(...POLICY_RANGES.releaseDays)],
  validity_days: ['validityDays', integer(...POLICY_RANGES.validityDays)],
  order_ttl_minutes: ['orderTtlMinutes', integer(...POLICY_RANGES.orderTtlMinutes)],
  max_order_ttl_minutes: ['maxOrderTtlMinutes', integer(...POLICY_RANGES.maxOrderTtlMinutes)],
  grant_maximum: ['grantMaximumCents', MONEY],
  grant_daily_maximum: ['grantDailyMaximumCents', MONEY],
  time_zone: [
    'timeZone',
    [
      faultUnless(
        (value) => typeof value === 'string' && isTimeZone(value),
        'must be an IANA time zone, such as "America/Sao_Paulo"',
      ),
      asIs,
    ],
  ],
};

/** Rules that differ from the default ones. The members are those of `GET /policy`. */
@InOrder(PolicyDto)
export class SandboxPolicyDto extends PartialType(OmitType(PolicyDto, ['document_check_digits'])) {}

for (const [member, [, [faultOf]]] of Object.entries(MEMBERS))
  for (const decorate of [IsOptional(), rule(`is_${member}`, faultOf)]) decorate(SandboxPolicyDto.prototype, member);

export function readPolicy(policy: SandboxPolicyDto): Partial<Policy> {
  const given = Object.entries(policy).flatMap(([member, value]) => {
    const [name, [, read]] = MEMBERS[member]!;
    return value === undefined ? [] : [[name, read(value as never)]];
  });
  return Object.fromEntries(given) as Partial<Policy>;
}
