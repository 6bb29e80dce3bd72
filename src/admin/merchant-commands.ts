import { Command } from 'commander';
import type { Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import { day, type EarnRates, earnRate, money, orNone, rate, shortText, timeZone, wholeNumber } from './arguments.js';
import { runChange, runWithServices } from './application.js';
import { printRows, toJson } from './rows.js';

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

type PolicyOptions = { earnRate?: EarnRates } & { [Option in keyof typeof RENAMED]?: number | 'none' } & Partial<
    Pick<Policy, 'releaseDays' | 'validityDays' | 'orderTtlMinutes' | 'maxOrderTtlMinutes' | 'timeZone'>
  >;

interface SetOptions extends PolicyOptions {
  name?: string;
  from?: string;
  through?: string;
  remove?: true;
}

export function merchantCommands(): Command {
  const merchant = new Command('merchant').description('merchants and their cashback policies');
  withPolicyOptions(
    merchant
      .command('create')
      .description('create a merchant')
      .requiredOption('--name <name>', "the merchant's name", shortText),
  ).action(({ name = '', ...options }: PolicyOptions & { name?: string }) => {
    const policy = policyOf(options);
    return runChange('merchant create', { name, policy: toJson(policy) }, async (services) =>
      changeOf(await services.get(MerchantsService).create(name, policy)),
    );
  });
  withPolicyOptions(
    merchant
      .command('set')
      .description('change a merchant; existing orders keep their policy')
      .argument('<merchant>', 'the merchant')
      .option('--name <name>', "the merchant's name", shortText)
      .option('--from <day>', 'the first of some days for which only these rules change, such as 2026-11-27', day)
      .option('--through <day>', 'the last of these days', day)
      .option('--remove', 'remove the rules of these days, until they begin'),
  ).action((id: string, { name, from, through, remove, ...options }: SetOptions) => {
    const policy = policyOf(options);
    if (from !== undefined || through !== undefined || remove)
      return setVersion(id, { from, through }, remove ? undefined : policy, name);
    const changes = { ...(name !== undefined && { name }), policy };
    return runChange('merchant set', { merchant_id: id, ...toJson(changes) }, async (services) =>
      changeOf(await services.get(MerchantsService).set(id, changes)),
    );
  });
  merchant
    .command('dates')
    .description('list the rules of a merchant for some days that are not over')
    .argument('<merchant>', 'the merchant')
    .action((id: string) =>
      runWithServices(async (services) => {
        await services.get(MerchantsService).get(id);
        printRows((await services.get(MerchantsService).versionsOf(id)).map(toJson));
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
    return { result: toJson(version), changed: { merchant_id: id } };
  });
}

function withPolicyOptions(command: Command): Command {
  return command
    .option(
      '--earn-rate <rate>',
      'share of the paid amount that is earned as cashback, such as 5% or 500bps; pix=7% is the share for one payment method. May be repeated; with `set`, the shares given for methods replace all existing ones',
      earnRate,
    )
    .option(
      '--redeem-share <rate>',
      "maximum share of an order's eligible total that can be redeemed, such as 50%",
      rate,
    )
    .option('--earn-minimum-total <amount>', 'orders below this total earn nothing', money)
    .option('--earn-maximum <amount>', 'the most that one order earns, or none', orNone(money))
    .option(
      '--earn-rate-maximum <rate>',
      "the share of an order's eligible total that it can ask to earn, or none",
      orNone(rate),
    )
    .option('--redeem-minimum <amount>', 'the least that can be redeemed at once', money)
    .option('--redeem-minimum-total <amount>', 'no cashback can be redeemed on orders below this total', money)
    .option(
      '--release-days <n>',
      'calendar days from completion until earned cashback is available',
      wholeNumber(0, 3650),
    )
    .option('--validity-days <n>', 'calendar days for which cashback is then available', wholeNumber(1, 36_500))
    .option('--order-ttl-minutes <n>', 'minutes until a pending order expires', wholeNumber(1, 525_600))
    .option(
      '--max-order-ttl-minutes <n>',
      'longest lifetime that an order can request, in minutes',
      wholeNumber(1, 525_600),
    )
    .option(
      '--grant-maximum <amount>',
      'the most that an API user can grant at once; the commands `cashback grant` and `import` only warn',
      money,
    )
    .option(
      '--grant-daily-maximum <amount>',
      'the most that an API user can grant in a day; all of the merchant grant at most four times as much',
      money,
    )
    .option('--time-zone <zone>', 'IANA time zone in which calendar days begin, such as America/Sao_Paulo', timeZone);
}

/** Only the options that were given, so that `set` changes nothing else. */
function policyOf({ earnRate: { general, byPaymentMethod } = {}, ...options }: PolicyOptions): Partial<Policy> {
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

function changeOf(merchant: Merchant): { result: unknown; changed: Record<string, unknown> } {
  return { result: toJson(merchant), changed: { merchant_id: merchant.id } };
}

/** A table has no place for a whole policy. */
function inTable({ policy, ...merchant }: Record<string, unknown>): Record<string, unknown> {
  const { earn_rate, earn_rates_by_payment_method, redeem_share, time_zone } = policy as Record<string, unknown>;
  return { ...merchant, earn_rate, earn_rates_by_payment_method, redeem_share, time_zone };
}
