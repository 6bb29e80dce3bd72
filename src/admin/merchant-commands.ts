import { Command } from 'commander';
import type { Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import { type EarnRates, earnRate, money, rate, shortText, timeZone, wholeNumber } from './arguments.js';
import { runChange, runWithServices } from './application.js';
import { printRows, toJson } from './rows.js';

type Renamed =
  'earnRateBps' | 'earnRatesByPaymentMethod' | 'redeemShareBps' | 'redeemMinimumTotalCents' | 'grantMaximumCents';

/** The options have the names of the policy's members, except those that read better on a command line. */
interface MerchantOptions extends Partial<Omit<Policy, Renamed>> {
  name?: string;
  earnRate?: EarnRates;
  redeemShare?: number;
  redeemMinimumTotal?: number;
  grantMaximum?: number;
}

export function merchantCommands(): Command {
  const merchant = new Command('merchant').description('merchants and their cashback policies');
  withPolicyOptions(
    merchant
      .command('create')
      .description('create a merchant')
      .requiredOption('--name <name>', "the merchant's name", shortText),
  ).action(({ name = '', ...options }: MerchantOptions) => {
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
      .option('--name <name>', "the merchant's name", shortText),
  ).action((id: string, { name, ...options }: MerchantOptions) => {
    const changes = { ...(name !== undefined && { name }), policy: policyOf(options) };
    return runChange('merchant set', { merchant_id: id, ...toJson(changes) }, async (services) =>
      changeOf(await services.get(MerchantsService).set(id, changes)),
    );
  });
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
    .option('--time-zone <zone>', 'IANA time zone in which calendar days begin, such as America/Sao_Paulo', timeZone);
}

/** Only the options that were given, so that `set` changes nothing else. */
function policyOf({
  earnRate: { general, byPaymentMethod } = {},
  redeemShare,
  redeemMinimumTotal,
  grantMaximum,
  ...same
}: Omit<MerchantOptions, 'name'>): Partial<Policy> {
  return {
    ...same,
    ...(general !== undefined && { earnRateBps: general }),
    ...(byPaymentMethod !== undefined && { earnRatesByPaymentMethod: byPaymentMethod }),
    ...(redeemShare !== undefined && { redeemShareBps: redeemShare }),
    ...(redeemMinimumTotal !== undefined && { redeemMinimumTotalCents: redeemMinimumTotal }),
    ...(grantMaximum !== undefined && { grantMaximumCents: grantMaximum }),
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
