import type { CampaignRules, Policy, RulesSet } from '@cashback/client';
import type { JSX } from 'preact';
import { cashbackToReceive } from '../../src/cashback/earned.js';
import {
  isSamePaymentMethod,
  type Policy as ServicePolicy,
  type Rule,
  RULE_ENTRIES,
} from '../../src/merchants/policy.js';
import { formatMoney, formatRate, parseMoney, parseRate } from '../../src/platform/values/money.js';
import { memberOf } from '../../src/platform/values/names.js';
import { Field, More } from './form.js';
import { amountOf, count, language, money, percent, refuse, t } from './format.js';
import type { Values } from './hooks.js';

type Name = keyof Policy;
type Rates = Record<string, string>;

const METHODS = ['pix', 'cash', 'credit_card', 'debit_card', 'boleto'];
const BY_METHOD = 'earn_rates_by_payment_method';
/** What people come for, and what few change. */
const FIRST = ['earn_minimum_total', 'earn_maximum'] as const;
const REST = [
  ...(['redeem_share', 'redeem_minimum_total', 'redeem_minimum', 'release_days', 'validity_days'] as const),
  ...(['order_ttl_minutes', 'max_order_ttl_minutes', 'earn_rate_maximum'] as const),
];

/** The service's own description of each rule, by its member. */
const RULES = new Map<string, Rule>(RULE_ENTRIES.map(([name, rule]) => [memberOf(name), rule]));
export const isOperators = (name: string): boolean => RULES.get(name)?.isOperators === true;

export const methodText = (id: string): string => t.paymentMethod[id.toLowerCase()] ?? id;
const isSet = (amount: string | undefined): amount is string => amount !== undefined && amount !== '0.00';

/** Each rule that is set, as a sentence. */
export const sentences = (rules: RulesSet): string[] =>
  [
    rules.earn_rate && t.rules.earnRate(percent(rules.earn_rate)),
    ...Object.entries(rules[BY_METHOD] ?? {}).map(([id, rate]) => t.rules.earnRateOf(methodText(id), percent(rate))),
    isSet(rules.earn_minimum_total) && t.rules.earnMinimum(money(rules.earn_minimum_total)),
    rules.earn_maximum && t.rules.earnMaximum(money(rules.earn_maximum)),
    rules.earn_rate_maximum && t.rules.earnRateMaximum(percent(rules.earn_rate_maximum)),
    rules.redeem_share && t.rules.redeemShare(percent(rules.redeem_share)),
    isSet(rules.redeem_minimum_total) && t.rules.redeemMinimumTotal(money(rules.redeem_minimum_total)),
    isSet(rules.redeem_minimum) && t.rules.redeemMinimum(money(rules.redeem_minimum)),
    rules.release_days !== undefined && t.rules.releaseDays(rules.release_days),
    rules.validity_days !== undefined && t.rules.validityDays(rules.validity_days),
    rules.order_ttl_minutes !== undefined && t.rules.orderTtl(rules.order_ttl_minutes),
    rules.document_check_digits && t.rules.checkDigits,
    rules.grant_maximum && t.rules.grantMaximum(money(rules.grant_maximum)),
    rules.grant_daily_maximum && t.rules.grantDailyMaximum(money(rules.grant_daily_maximum)),
    rules.late_sale_days && t.rules.lateSales(rules.late_sale_days),
    rules.time_zone && t.rules.timeZone(rules.time_zone),
  ].filter((sentence) => typeof sentence === 'string');

export const Sentences = ({ of }: { of: RulesSet }): JSX.Element => (
  <ul>
    {sentences(of).map((sentence) => (
      <li key={sentence}>{sentence}</li>
    ))}
  </ul>
);

/** What a campaign has differently from the base: it repeats the rates of the methods that it leaves. */
export function differing(rules: RulesSet, base: Policy): RulesSet {
  const rates = Object.entries(rules[BY_METHOD] ?? {}).filter(
    ([id, rate]) => rules.earn_rate || rate !== (base[BY_METHOD][id] ?? base.earn_rate),
  );
  const others = Object.entries(rules).filter(([name]) => name !== BY_METHOD);
  return {
    ...(Object.fromEntries(others) as RulesSet),
    ...(rates.length > 0 && { [BY_METHOD]: Object.fromEntries(rates) }),
  };
}

/** What it gives, on a line. */
export function inShort(rules: RulesSet): string {
  const rates = Object.entries(rules[BY_METHOD] ?? {}).map(([id, rate]) => `${methodText(id)} ${percent(rate)}`);
  const parts = [
    rules.earn_rate && (rates.length > 0 ? t.rules.others(percent(rules.earn_rate)) : percent(rules.earn_rate)),
    isSet(rules.earn_minimum_total) && t.rules.from(money(rules.earn_minimum_total)),
    rules.earn_maximum && t.rules.upTo(money(rules.earn_maximum)),
  ];
  return [...rates, ...parts].filter(Boolean).join(' · ') || (sentences(rules)[0] ?? '–');
}

function valueText(name: string, value: unknown): string {
  if (value === null || value === undefined || value === '0.00') return t.rules.none;
  if (typeof value === 'boolean') return value ? t.rules.yes : t.rules.no;
  if (typeof value === 'number') return count(value);
  const kind = RULES.get(name)?.kind;
  return kind === 'rate' ? percent(value as string) : kind === 'money' ? money(value as string) : (value as string);
}

/** @returns the rules of a set that another one has differently: the name of each, how it was, and how it is */
export function changes(before: RulesSet, after: RulesSet): [name: string, before: string, after: string][] {
  return Object.entries(after).flatMap(([name, value]): [string, string, string][] => {
    const old = before[name as Name];
    if (name !== BY_METHOD) return old === value ? [] : [[labelOf(name), valueText(name, old), valueText(name, value)]];
    const [was, is] = [(old ?? {}) as Rates, value as Rates];
    const text = (rate: string | undefined): string => (rate === undefined ? t.rules.asOthers : percent(rate));
    return [...new Set([...Object.keys(was), ...Object.keys(is)])]
      .filter((id) => was[id] !== is[id])
      .map((id) => [methodText(id), text(was[id]), text(is[id])]);
  });
}

const labelOf = (name: string): string => (t.rules.field as Partial<Record<string, string>>)[name] ?? name;

/** The rules as the service has them inside, so that its own arithmetic can be used. */
const toService = (rules: Policy): ServicePolicy =>
  Object.fromEntries(
    RULE_ENTRIES.map(([name, { kind }]): [string, unknown] => {
      const value: unknown = rules[memberOf(name)];
      if (value === null) return [name, null];
      if (kind === 'money') return [name, parseMoney(value as string)];
      if (kind === 'rate') return [name, parseRate(value as string)];
      if (kind !== 'rates') return [name, value];
      return [name, Object.fromEntries(Object.entries(value as Rates).map(([id, rate]) => [id, parseRate(rate)]))];
    }),
  ) as unknown as ServicePolicy;

/** @returns what an order earns that is paid with one method; without one, with any that has no rate of its own */
export function earned(total: string, method: string | undefined, rules: Policy): string {
  const totalCents = parseMoney(total);
  const paymentMethods = method === undefined ? [] : [{ id: method, amountCents: totalCents }];
  const order = { totalCents, eligibleTotalCents: null, paymentMethods, redeemedCents: 0, earnAmountCents: null };
  return formatMoney(cashbackToReceive(order, toService(rules)).earnedCents);
}

/** The payment methods that have fields: those that are known, as the rules write them. */
function methodsOf(...sets: RulesSet[]): string[] {
  const written = sets.flatMap((rules) => Object.keys(rules[BY_METHOD] ?? {}));
  return [...METHODS, ...written].reduce<string[]>((methods, id) => {
    if (methods.some((method) => isSamePaymentMethod(method, id))) return methods;
    return [...methods, written.find((method) => isSamePaymentMethod(method, id)) ?? id];
  }, []);
}

const typed = (amount: string): string => (language === 'pt-BR' ? amount.replace('.', ',') : amount);

/** How a rule is written in its field. */
function fieldText(name: string, value: RulesSet[Name]): string | undefined {
  if (value === null || typeof value === 'object') return undefined;
  if (typeof value !== 'string') return value?.toString();
  const kind = RULES.get(name)?.kind;
  return kind === 'rate' ? percent(value) : kind === 'money' ? typed(value) : value;
}

/**
 * The fields of rules.
 *
 * @param props `rules` are in the fields; a campaign has `base`, as which is what stays empty
 */
export function RuleFields({ rules, base, policy }: { rules: RulesSet; base?: Policy; policy: Policy }): JSX.Element {
  const hintOf = (name: Name): string => {
    const { ceiling, range } = RULES.get(name)!;
    const most = ceiling && percent(policy[memberOf(ceiling) as 'earn_rate_ceiling']);
    return [
      most && t.rules.atMost(most),
      range && t.rules.range(count(range[0]), count(range[1])),
      base && t.rules.asAlways(valueText(name, base[name])),
    ]
      .filter(Boolean)
      .join(' ');
  };
  const field = (name: Name): JSX.Element => (
    <Field
      key={name}
      name={name}
      label={labelOf(name)}
      value={fieldText(name, rules[name])}
      hint={hintOf(name)}
      inputMode={RULES.get(name)!.kind === 'integer' ? 'numeric' : 'decimal'}
      {...((base || name !== 'earn_rate') && { optional: 'unsaid' })}
    />
  );
  const methods = methodsOf(rules, base ?? {});
  return (
    <>
      {field('earn_rate')}
      <fieldset class="stack">
        <legend>{t.rules.byMethod}</legend>
        <small>{base ? t.rules.byMethodOfCampaign : t.rules.byMethodHint}</small>
        <div class="pair">
          {methods.map((id) => (
            <Field
              key={id}
              name={`${BY_METHOD}.${id}`}
              label={methodText(id)}
              value={fieldText('earn_rate', rules[BY_METHOD]?.[id])}
              inputMode="decimal"
              optional="unsaid"
            />
          ))}
        </div>
      </fieldset>
      <div class="pair">{FIRST.map(field)}</div>
      <More summary={t.rules.more}>
        <div class="pair">{REST.map(field)}</div>
        {!base && (
          <Field
            name="document_check_digits"
            label={t.rules.field.document_check_digits}
            value={String(rules.document_check_digits)}
            options={[
              ['false', t.rules.no],
              ['true', t.rules.yes],
            ]}
          />
        )}
      </More>
    </>
  );
}

/** Reads a percentage as people write it: `10`, `7,5` or `7.5%`. It has two decimals, as an amount does. */
function rateOf(text: string, field: string, most: string): string {
  const plain = text.replaceAll(/[\s%]/g, '').replace(',', '.');
  const bps = /^\d{1,3}(\.\d{1,2})?$/.test(plain) ? parseMoney(plain.replace(/^0+(?=\d)/, '')) : Infinity;
  if (bps > parseRate(most)) refuse(field, `${t.refused.earn_rate} ${t.rules.atMost(percent(most))}`);
  return formatRate(bps);
}

function valueOf(text: string, name: Name, policy: Policy): unknown {
  const { kind, ceiling } = RULES.get(name)!;
  if (kind === 'rate') return rateOf(text, name, ceiling ? policy[memberOf(ceiling) as 'earn_rate_ceiling'] : '1');
  if (kind === 'money') return formatMoney(parseMoney(amountOf(text, name)));
  if (kind === 'flag') return text === 'true';
  return /^\d{1,6}$/.test(text) ? Number(text) : refuse(name, 'must be a whole number');
}

/** What stays empty in the rules that hold without a campaign. */
const emptyOf = (name: Name): unknown =>
  RULES.get(name)!.default === null ? null : RULES.get(name)!.kind === 'money' ? '0.00' : refuse(name, 'must be set');

function typedRates(values: Values, policy: Policy, ...sets: RulesSet[]): Rates {
  const typed = methodsOf(...sets).flatMap((id): [string, string][] => {
    const field = `${BY_METHOD}.${id}`;
    return values[field] ? [[id, rateOf(values[field], field, policy.earn_rate_ceiling)]] : [];
  });
  return Object.fromEntries(typed);
}

/** @returns what the fields have differently from the rules that hold without a campaign */
export function changedRules(values: Values, policy: Policy): CampaignRules & Pick<RulesSet, 'document_check_digits'> {
  const names = ['earn_rate', ...FIRST, ...REST, 'document_check_digits'] as const;
  const all: [string, unknown][] = names.map((name) => [
    name,
    values[name] ? valueOf(values[name], name, policy) : emptyOf(name),
  ]);
  all.push([BY_METHOD, typedRates(values, policy, policy)]);
  const text = (value: unknown): string =>
    JSON.stringify(typeof value === 'object' && value ? Object.entries(value).sort() : value);
  return Object.fromEntries(all.filter(([name, value]) => text(value) !== text(policy[name as Name])));
}

/**
 * @param before what the campaign changes now
 * @returns what a campaign changes: what its fields have. A rate of a method, without one for all, is beside the rates
 *   that the others have
 */
export function campaignRules(values: Values, base: Policy, before: RulesSet): CampaignRules {
  const names = (['earn_rate', ...FIRST, ...REST] as const).filter((name) => values[name] || before[name] === null);
  const given: [string, unknown][] = names.map((name) => [
    name,
    values[name] ? valueOf(values[name], name, base) : null,
  ]);
  const rates = typedRates(values, base, before, base);
  const all = values.earn_rate || Object.keys(rates).length === 0 ? rates : { ...base[BY_METHOD], ...rates };
  return { ...(Object.fromEntries(given) as CampaignRules), ...(Object.keys(all).length > 0 && { [BY_METHOD]: all }) };
}
