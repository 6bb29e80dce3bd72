import type { Command } from 'commander';
import { type Policy, POLICY_RANGES } from '../merchants/policy.js';
import { type EarnRates, earnRate, money, orNone, rate, timeZone, wholeNumber } from './arguments.js';

/** The members of the policy whose options have shorter names. */
const RENAMED = {
  earnMinimumTotal: 'earnMinimumTotalCents',
  earnMaximum: 'earnMaximumCents',
  earnRateMaximum: 'earnRateMaximumBps',
  redeemShare: 'redeemShareBps',
  redeemMinimumTotal: 'redeemMinimumTotalCents',
  redeemMinimum: 'redeemMinimumCents',
  grantMaximum: 'grantMaximumCents',
  grantDailyMaximum: 'grantDailyMaximumCents',
} as const satisfies Record<string, keyof Policy>;

export type PolicyOptions = { earnRate?: EarnRates } & { [Option in keyof typeof RENAMED]?: number | 'none' } & Partial<
    Pick<Policy, 'releaseDays' | 'validityDays' | 'orderTtlMinutes' | 'maxOrderTtlMinutes' | 'timeZone'>
  >;

const OPTIONS: [flags: string, description: string, parse: (text: string, before: never) => unknown][] = [
  [
    '--earn-rate <rate>',
    'share of the paid amount that is earned as cashback, such as 5% or 500bps; pix=7% is the share for one payment method. May be repeated; with `set`, the shares given for methods replace all existing ones',
    earnRate,
  ],
  ['--redeem-share <rate>', "maximum share of an order's eligible total that can be redeemed, such as 50%", rate],
  ['--earn-minimum-total <amount>', 'orders below this total earn nothing', money],
  ['--earn-maximum <amount>', 'the most that one order earns, or none', orNone(money)],
  [
    '--earn-rate-maximum <rate>',
    "the share of an order's eligible total that it can ask to earn, or none",
    orNone(rate),
  ],
  ['--redeem-minimum <amount>', 'the least that can be redeemed at once', money],
  ['--redeem-minimum-total <amount>', 'no cashback can be redeemed on orders below this total', money],
  [
    '--release-days <n>',
    'calendar days from completion until earned cashback is available',
    wholeNumber(...POLICY_RANGES.releaseDays),
  ],
  [
    '--validity-days <n>',
    'calendar days for which cashback is then available',
    wholeNumber(...POLICY_RANGES.validityDays),
  ],
  ['--order-ttl-minutes <n>', 'minutes until a pending order expires', wholeNumber(...POLICY_RANGES.orderTtlMinutes)],
  [
    '--max-order-ttl-minutes <n>',
    'longest lifetime that an order can request, in minutes',
    wholeNumber(...POLICY_RANGES.maxOrderTtlMinutes),
  ],
  [
    '--grant-maximum <amount>',
    'the most that an API user can grant at once; the commands `cashback grant` and `import` only warn',
    money,
  ],
  [
    '--grant-daily-maximum <amount>',
    'the most that an API user can grant in a day; all of the merchant grant at most four times as much',
    money,
  ],
  ['--time-zone <zone>', 'IANA time zone in which calendar days begin, such as America/Sao_Paulo', timeZone],
];

export function withPolicyOptions(command: Command): Command {
  for (const [flags, description, parse] of OPTIONS)
    command.option(flags, description, parse as (text: string, before: unknown) => unknown);
  return command;
}

/** Only the options that were given, so that `set` changes nothing else. */
export function policyOf({ earnRate: { general, byPaymentMethod } = {}, ...options }: PolicyOptions): Partial<Policy> {
  const members = Object.entries(options).map(([name, value]) => [
    Object.hasOwn(RENAMED, name) ? RENAMED[name as keyof typeof RENAMED] : name,
    value === 'none' ? null : value,
  ]);
  return {
    ...(Object.fromEntries(members) as Partial<Policy>),
    ...(general !== undefined && { earnRateBps: general }),
    ...(byPaymentMethod !== undefined && { earnRatesByPaymentMethod: byPaymentMethod }),
  };
}
