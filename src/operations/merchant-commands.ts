import { Command } from 'commander';
import { type Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type PolicyVersion } from '../merchants/policy-version.entity.js';
import { type Policy, POLICY_RANGES } from '../merchants/policy.js';
import { runChange, runWithServices } from './application.js';
import {
  day,
  merchantName,
  type EarnRates,
  earnRate,
  money,
  orNone,
  rate,
  timeZone,
  wholeNumber,
} from './arguments.js';
import { printRows, type Row, toJson } from './output.js';

interface SetOptions extends PolicyOptions {
  name?: string;
  from?: string;
  through?: string;
  remove?: true;
}

export function merchantCommands(): Command {
  const merchant = new Command('merchant').description('merchants and their cashback policies');
  addCreate(merchant);
  addSet(merchant);
  merchant
    .command('dates')
    .description('list the rules of a merchant for some days that are not over')
    .argument('<merchant>', 'the merchant')
    .action((id: string) =>
      runWithServices(async (services) => {
        await services.get(MerchantsService).get(id);
        printRows((await services.get(MerchantsService).rulesOf(id)).versions.map(versionOf));
      }),
    );
  merchant
    .command('list')
    .description('list all merchants')
    .action(() =>
      runWithServices(async (services) =>
        printRows((await services.get(MerchantsService).list()).map(toJson), inTable),
      ),
    );
  return merchant;
}

function addCreate(merchant: Command): void {
  withPolicyOptions(
    merchant
      .command('create')
      .description('create a merchant')
      .requiredOption('--name <name>', "the merchant's name", merchantName),
  ).action(({ name = '', ...options }: PolicyOptions & { name?: string }) => {
    const policy = policyOf(options);
    return runChange('merchant create', { name, policy: toJson(policy) }, async (services) =>
      changeOf(await services.get(MerchantsService).create(name, policy)),
    );
  });
}

function addSet(merchant: Command): void {
  withPolicyOptions(
    merchant
      .command('set')
      .description('change a merchant; existing orders keep their policy')
      .argument('<merchant>', 'the merchant')
      .option('--name <name>', "the merchant's name", merchantName)
      .option('--from <day>', 'the first of some days for which only these rules change, such as 2026-11-27', day)
      .option('--through <day>', 'the last of these days', day)
      .option('--remove', 'remove the rules of these days; those that have begun end in a minute'),
  ).action((id: string, { name, from, through, remove, ...options }: SetOptions) => {
    const policy = policyOf(options);
    if (from !== undefined || through !== undefined || remove)
      return setVersion(id, { from, through }, remove ? undefined : policy, name);
    const changes = { ...(name !== undefined && { name }), policy };
    return runChange('merchant set', { merchant_id: id, ...toJson(changes) }, async (services) =>
      changeOf(await services.get(MerchantsService).set(id, changes)),
    );
  });
}

/** @param policy undefined removes the rules of these days. */
function setVersion(
  id: string,
  { from: fromDay, through: throughDay }: { from: string | undefined; through: string | undefined },
  policy: Partial<Policy> | undefined,
  name: string | undefined,
): Promise<void> {
  if (fromDay === undefined || throughDay === undefined) throw new Error('--from and --through belong together');
  if (name !== undefined || policy?.timeZone !== undefined) throw new Error('--name and --time-zone have no days');
  if (policy !== undefined && Object.keys(policy).length === 0) throw new Error('name at least one rule, or --remove');
  // A version with a general rate replaces all rates of methods.
  const changes = policy?.earnRateBps === undefined ? policy : { earnRatesByPaymentMethod: {}, ...policy };
  const days = { fromDay, throughDay };
  const details = { merchant_id: id, from: fromDay, through: throughDay, changes: changes && toJson(changes) };
  return runChange('merchant set', details, async (services) => {
    const version = await services.get(MerchantsService).setVersion(id, days, changes);
    const { merchant_id, from, through, ...stored } = versionOf(version);
    const result =
      changes === undefined
        ? { merchant_id, removed: { from, through, changes: stored.changes } }
        : { merchant_id, from, through, ...stored };
    return { result, changed: { merchant_id: id } };
  });
}

/** The days have the names of the options, which are those of `GET /policy`. */
function versionOf({ merchantId: merchant_id, fromDay: from, throughDay: through, ...version }: PolicyVersion): Row {
  return { merchant_id, from, through, ...toJson(version) };
}

function changeOf(merchant: Merchant): { result: unknown; changed: Record<string, unknown> } {
  return { result: toJson(merchant), changed: { merchant_id: merchant.id } };
}

/** A table has no place for a whole policy. */
function inTable({ policy, ...merchant }: Record<string, unknown>): Record<string, unknown> {
  const { earn_rate, earn_rates_by_payment_method, redeem_share, time_zone } = policy as Record<string, unknown>;
  return { ...merchant, earn_rate, earn_rates_by_payment_method, redeem_share, time_zone };
}

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
