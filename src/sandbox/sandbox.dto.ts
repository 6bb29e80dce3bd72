import { ApiProperty, OmitType, PartialType, PickType } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { UserWithPasswordDto } from '../auth/user.dto.js';
import { PolicyDto } from '../merchants/policy.dto.js';
import { isSamePaymentMethod, type Policy, POLICY_RANGES } from '../merchants/policy.js';
import { IsDay, IsInstant, IsObjectOf, IsText, moneyFault, rule } from '../platform/http/validators.js';
import { ApiId, InOrder } from '../platform/openapi/decorators.js';
import { parseMoney, parseRate, RATE_PATTERN } from '../platform/values/money.js';
import { type FaultOf, textFault } from '../platform/values/texts.js';
import { isTimeZone } from '../platform/values/time.js';
import { type ClockTarget } from './clock-moves.service.js';

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

/** A merchant to create in the sandbox. */
export class CreateSandboxMerchantDto {
  /** @example "Loja da Ana" */
  @IsText('name', 200)
  readonly name!: string;

  /** What differs from the default rules. */
  @IsOptional()
  @IsObjectOf(() => SandboxPolicyDto)
  readonly policy?: SandboxPolicyDto;
}

/** An API user with all permissions. */
@InOrder(UserWithPasswordDto)
class SandboxUserDto extends PickType(UserWithPasswordDto, ['id', 'name', 'email', 'permissions', 'password']) {}

/** A new merchant of the sandbox, with an API user that has all permissions. */
@InOrder()
export class SandboxMerchantDto {
  @ApiId()
  readonly id!: string;

  /** @example "Loja da Ana" */
  readonly name!: string;

  readonly policy!: PolicyDto;

  /** Log in with its email and its password, which is only in this response. */
  readonly user!: SandboxUserDto;
}

/** Where to move the clock: one of both. */
export class MoveClockDto implements ClockTarget {
  /**
   * An instant.
   * @example "2026-12-03T12:00:00Z"
   */
  @IsOptional()
  @IsInstant()
  readonly now?: string;

  /** The beginning of this day in the merchant's time zone. */
  @IsOptional()
  @IsDay()
  readonly on?: string;
}

/** The merchant's time. */
@InOrder()
export class SandboxClockDto {
  /** The merchant's time now. */
  readonly now!: Date;

  /** Whether it stands still. It does after its first move. */
  readonly frozen!: boolean;

  /** Whether the last move is not done. Send it again. */
  readonly moving!: boolean;
}

/** A move of the clock. */
@InOrder()
export class ClockMoveDto {
  /** Where the clock is now. */
  readonly now!: Date;

  /** False if the time of this request was over first. Send the same request again, until it is true. */
  readonly done!: boolean;

  /**
   * The `sequence` of the first event of the move, also of its earlier requests. Null until it is done, and if there is
   * none.
   */
  @ApiProperty({ type: 'integer', nullable: true, example: 12 })
  readonly first_sequence!: number | null;

  /** The `sequence` of the last event of the move. Null until it is done, and if there is none. */
  @ApiProperty({ type: 'integer', nullable: true, example: 14 })
  readonly last_sequence!: number | null;
}
