import { Command } from 'commander';
import { formatMoney } from '../common/money.js';
import type { Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import { earnRate, money, shortText, wholeNumber } from './arguments.js';
import { runChange, runWithServices } from './services.js';

interface MerchantOptions {
  name?: string;
  earnRateBps?: number;
  earnRate?: Record<string, number>;
  redeemShareBps?: number;
  redeemMinimumTotal?: number;
  releaseDays?: number;
  validityDays?: number;
  orderTtlMinutes?: number;
}

export function merchantCommands(): Command {
  const merchant = new Command('merchant').description('merchants and their cashback policies');
  withPolicyOptions(
    merchant.command('create').description('create a merchant').requiredOption('--name <name>', 'its name', shortText),
  ).action(({ name = '', ...options }: MerchantOptions) => {
    const policy = policyOf(options);
    return runChange({ command: 'merchant create', details: { name, policy } }, async (services) =>
      changeOf(await services.get(MerchantsService).create(name, policy)),
    );
  });
  withPolicyOptions(
    merchant
      .command('set')
      .description('change a merchant; open orders keep the policy they have')
      .argument('<id>', 'the merchant')
      .option('--name <name>', 'its name', shortText),
  ).action((id: string, { name, ...options }: MerchantOptions) => {
    const changes = { ...(name !== undefined && { name }), policy: policyOf(options) };
    return runChange({ command: 'merchant set', details: { merchant_id: id, ...changes } }, async (services) =>
      changeOf(await services.get(MerchantsService).set(id, changes)),
    );
  });
  merchant
    .command('list')
    .description('all merchants')
    .action(() => runWithServices(async (services) => (await services.get(MerchantsService).list()).map(toJson)));
  return merchant;
}

function withPolicyOptions(command: Command): Command {
  return command
    .option(
      '--earn-rate-bps <n>',
      'share of what is paid that comes back, in basis points (500 is 5 %)',
      wholeNumber(0, 10_000),
    )
    .option(
      '--earn-rate <method=bps>',
      'another share for a payment method; repeat it for each, as with `set` they take the place of all there were',
      earnRate,
    )
    .option('--redeem-share-bps <n>', "most of an order's total that may be redeemed", wholeNumber(0, 10_000))
    .option('--redeem-minimum-total <amount>', 'orders under this total redeem nothing', money)
    .option('--release-days <n>', 'days from completion until the cashback can be spent', wholeNumber(0, 3650))
    .option('--validity-days <n>', 'days it can then be spent', wholeNumber(1, 36_500))
    .option('--order-ttl-minutes <n>', 'until when an order can be finished', wholeNumber(1, 525_600));
}

/** Only what was said: the rest stays as it is. */
function policyOf(options: MerchantOptions): Partial<Policy> {
  const {
    earnRateBps,
    earnRate: earnRatesByPaymentMethod,
    redeemShareBps,
    redeemMinimumTotal: redeemMinimumTotalCents,
    releaseDays,
    validityDays,
    orderTtlMinutes,
  } = options;
  const policy = {
    earnRateBps,
    earnRatesByPaymentMethod,
    redeemShareBps,
    redeemMinimumTotalCents,
    releaseDays,
    validityDays,
    orderTtlMinutes,
  };
  return Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined));
}

function changeOf(merchant: Merchant): { result: unknown; changed: Record<string, unknown> } {
  return { result: toJson(merchant), changed: { merchant_id: merchant.id } };
}

function toJson({ id, name, policy, createdAt }: Merchant): Record<string, unknown> {
  return {
    id,
    name,
    policy: {
      earn_rate_bps: policy.earnRateBps,
      earn_rates_by_payment_method: policy.earnRatesByPaymentMethod,
      redeem_share_bps: policy.redeemShareBps,
      redeem_minimum_total: formatMoney(policy.redeemMinimumTotalCents),
      release_days: policy.releaseDays,
      validity_days: policy.validityDays,
      order_ttl_minutes: policy.orderTtlMinutes,
    },
    created_at: createdAt,
  };
}
