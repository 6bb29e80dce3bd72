import { Command } from 'commander';
import { formatMoney } from '../common/money.js';
import type { Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import { earnRate, money, shortText, timeZone, wholeNumber } from './arguments.js';
import { runChange, runWithServices } from './application.js';

/** The options have the names of the policy's members, except those that read better on a command line. */
interface MerchantOptions extends Partial<
  Omit<Policy, 'earnRatesByPaymentMethod' | 'redeemMinimumTotalCents' | 'grantMaximumCents'>
> {
  name?: string;
  earnRate?: Policy['earnRatesByPaymentMethod'];
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
    return runChange('merchant create', { name, policy }, async (services) =>
      changeOf(await services.get(MerchantsService).create(name, policy)),
    );
  });
  withPolicyOptions(
    merchant
      .command('set')
      .description('change a merchant; existing orders keep their policy')
      .argument('<id>', 'the merchant')
      .option('--name <name>', "the merchant's name", shortText),
  ).action((id: string, { name, ...options }: MerchantOptions) => {
    const changes = { ...(name !== undefined && { name }), policy: policyOf(options) };
    return runChange('merchant set', { merchant_id: id, ...changes }, async (services) =>
      changeOf(await services.get(MerchantsService).set(id, changes)),
    );
  });
  merchant
    .command('list')
    .description('list all merchants')
    .action(() => runWithServices(async (services) => (await services.get(MerchantsService).list()).map(toJson)));
  return merchant;
}

function withPolicyOptions(command: Command): Command {
  return command
    .option(
      '--earn-rate-bps <n>',
      'share of the paid amount that is earned as cashback, in basis points (500 is 5 %)',
      wholeNumber(0, 10_000),
    )
    .option(
      '--earn-rate <method=bps>',
      'a different share for one payment method; may be repeated; with `set`, the given rates replace all existing ones',
      earnRate,
    )
    .option(
      '--redeem-share-bps <n>',
      "maximum share of an order's eligible total that can be redeemed, in basis points",
      wholeNumber(0, 10_000),
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

/** Returns only the options that were given, so that `set` changes nothing else. */
function policyOf(options: Omit<MerchantOptions, 'name'>): Partial<Policy> {
  const { earnRate, redeemMinimumTotal, grantMaximum, ...same } = options;
  return {
    ...same,
    ...(earnRate !== undefined && { earnRatesByPaymentMethod: earnRate }),
    ...(redeemMinimumTotal !== undefined && { redeemMinimumTotalCents: redeemMinimumTotal }),
    ...(grantMaximum !== undefined && { grantMaximumCents: grantMaximum }),
  };
}

function changeOf(merchant: Merchant): { result: unknown; changed: Record<string, unknown> } {
  return { result: toJson(merchant), changed: { merchant_id: merchant.id } };
}

function toJson({ id, name, policy, createdAt }: Merchant): Record<string, unknown> {
  return {
    id,
    name,
    policy: Object.fromEntries(Object.entries(policy).map(([member, value]) => toJsonMember(member, value))),
    created_at: createdAt,
  };
}

/** Members have their names in snake case. Only centavos become a decimal string. */
function toJsonMember(member: string, value: unknown): [string, unknown] {
  const name = member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return name.endsWith('_cents') ? [name.slice(0, -'_cents'.length), formatMoney(value as number)] : [name, value];
}
