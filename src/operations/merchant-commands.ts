import { Command } from 'commander';
import { type Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type CampaignVersion } from '../merchants/campaign.entity.js';
import { CampaignsService, withRates } from '../merchants/campaigns.service.js';
import { type Policy, type Rule, RULE_ENTRIES } from '../merchants/policy.js';
import { memberOf } from '../platform/values/names.js';
import { runChange, runWithServices } from './application.js';
import {
  day,
  earnRate,
  type EarnRates,
  flag,
  merchantName,
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
        const { campaigns } = await services.get(MerchantsService).rulesOf(id);
        printRows(campaigns.map(({ latest }) => versionOf(latest)));
      }),
    );
  merchant
    .command('list')
    .description('list all merchants')
    .action(() =>
      runWithServices(async (services) => printRows((await services.get(MerchantsService).list()).map(shown), inTable)),
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
      changeOf((await services.get(MerchantsService).set(id, changes)).merchant),
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
  const changes = policy && withRates(policy);
  const days = { fromDay, throughDay };
  const details = { merchant_id: id, from: fromDay, through: throughDay, changes: changes && toJson(changes) };
  return runChange('merchant set', details, async (services) => {
    const version = await services.get(CampaignsService).setDays(id, days, changes);
    const { merchant_id, from, through, ...stored } = versionOf(version);
    const result =
      changes === undefined
        ? { merchant_id, removed: { from, through, changes: stored.changes } }
        : { merchant_id, from, through, ...stored };
    return { result, changed: { merchant_id: id } };
  });
}

/** The days have the names of the options, which are those of `GET /policy`. */
function versionOf(version: CampaignVersion): Row {
  const { merchantId: merchant_id, fromDay: from, throughDay: through, id, name, changes, storedAt, endedAt } = version;
  return { merchant_id, from, through, ...toJson({ id, name, changes, storedAt, endedAt }) };
}

function changeOf(merchant: Merchant): { result: unknown; changed: Record<string, unknown> } {
  return { result: shown(merchant), changed: { merchant_id: merchant.id } };
}

const shown = ({ policyVersion: _, ...merchant }: Merchant): Row => toJson(merchant);

/** A table has no place for a whole policy. */
function inTable({ policy, ...merchant }: Record<string, unknown>): Record<string, unknown> {
  const { earn_rate, earn_rates_by_payment_method, redeem_share, time_zone } = policy as Record<string, unknown>;
  return { ...merchant, earn_rate, earn_rates_by_payment_method, redeem_share, time_zone };
}

/** The option of each rule, by the name of its value. The rates of payment methods are values of `--earn-rate`. */
const OPTION_NAMES = new Map(
  RULE_ENTRIES.filter(([, { kind }]) => kind !== 'rates').map(([name]) => [name.replace(/(Cents|Bps)$/, ''), name]),
);

type PolicyOptions = { earnRate?: EarnRates } & Record<string, unknown>;

const PARSERS: Record<
  Exclude<Rule['kind'], 'rates'>,
  [value: string, parse: (rule: Rule) => (text: string) => unknown]
> = {
  rate: ['<rate>', () => rate],
  money: ['<amount>', () => money],
  integer: ['<n>', ({ range: [low, high] = [0, Infinity] }) => wholeNumber(low, high)],
  flag: ['<true|false>', () => flag],
  time_zone: ['<zone>', () => timeZone],
};

const EARN_RATES_HELP =
  'share of the paid amount that is earned as cashback, such as 5% or 500bps; pix=7% is the share for one payment method. May be repeated; with `set`, the shares given for methods replace all existing ones';

/** An option for each rule: what the rule says, in the words of a command line. */
function withPolicyOptions(command: Command): Command {
  command.option('--earn-rate <rate>', EARN_RATES_HELP, earnRate);
  for (const [name, rule] of RULE_ENTRIES) {
    if (rule.kind === 'rates' || name === 'earnRateBps') continue;
    const [value, parserOf] = PARSERS[rule.kind];
    const parse = rule.default === null ? orNone(parserOf(rule)) : parserOf(rule);
    const says = rule.says
      .replace(/\.$/, '')
      .replaceAll('\n', ' ')
      .replace(/\bnull\b/, '`none`');
    command.option(`--${memberOf(name).replaceAll('_', '-')} ${value}`, says[0]!.toLowerCase() + says.slice(1), parse);
  }
  return command;
}

/** Only the options that were given, so that `set` changes nothing else. */
export function policyOf({ earnRate: { general, byPaymentMethod } = {}, ...options }: PolicyOptions): Partial<Policy> {
  const rules = Object.entries(options).map(([option, value]) => [
    OPTION_NAMES.get(option),
    value === 'none' ? null : value,
  ]);
  return {
    ...(Object.fromEntries(rules) as Partial<Policy>),
    ...(general !== undefined && { earnRateBps: general }),
    ...(byPaymentMethod !== undefined && { earnRatesByPaymentMethod: byPaymentMethod }),
  };
}
