import { share } from './expected.js';
import { addDays, brl, cents, localDate, max, min, startOfDay, sum } from './values.js';

/** The default policy of docs/cashback.md. Rates and shares are basis points. */
const DEFAULTS = {
  ...{ earnRate: 500n, earnRates: {} as Record<string, bigint>, redeemShare: 5000n, redeemMinimumTotal: 0n },
  ...{ earnMinimumTotal: 0n, redeemMinimum: 0n },
  ...{ earnMaximum: null as bigint | null, earnRateMaximum: null as bigint | null },
  ...{ releaseDays: 8, validityDays: 180, timeZone: 'America/Sao_Paulo' },
  ...{ orderTtlMinutes: 30, maxOrderTtlMinutes: 10_080, grantMaximum: 100_000n, grantDailyMaximum: 500_000n },
  lateSaleDays: 0,
};
export type Rules = typeof DEFAULTS;
const ALL_NOW = { redeemShare: 10_000n, releaseDays: 0 };

/** Policies under which dates, rates and limits meet often. Days of Havana begin at 01:00 once a year. */
export const policies: Record<string, Rules> = {
  usual: { ...DEFAULTS, earnRates: { pix: 700n, boleto: 0n }, earnRateMaximum: 500n, lateSaleDays: 3 },
  immediate: { ...DEFAULTS, ...ALL_NOW, earnRate: 5000n, earnMaximum: 4000n, validityDays: 1 },
  far: {
    ...{ ...DEFAULTS, ...ALL_NOW, earnRate: 10_000n, earnRateMaximum: 10_000n },
    ...{ validityDays: 3, timeZone: 'Pacific/Kiritimati' },
  },
  odd: {
    ...{ earnRate: 725n, earnRates: { card: 333n }, redeemShare: 9999n, redeemMinimumTotal: 5000n },
    ...{ earnMinimumTotal: 1001n, earnMaximum: 700n, earnRateMaximum: 2000n, redeemMinimum: 150n },
    ...{ releaseDays: 1, validityDays: 2, timeZone: 'America/Havana' },
    ...{ orderTtlMinutes: 10, maxOrderTtlMinutes: 4320, grantMaximum: 5000n, grantDailyMaximum: 6000n },
    lateSaleDays: 1,
  },
};

const decimal = (basisPoints: bigint): string => (Number(basisPoints) / 10_000).toFixed(4);

/** The arguments of `merchants create` for a policy. */
export function policyArguments(rules: Rules): string[] {
  const rates = Object.fromEntries(Object.entries(rules.earnRates).map(([id, rate]) => [id, decimal(rate)]));
  const values = {
    ...{ '--earn-rate': decimal(rules.earnRate), '--redeem-share': decimal(rules.redeemShare) },
    ...{ '--redeem-minimum-total': brl(rules.redeemMinimumTotal), '--redeem-minimum': brl(rules.redeemMinimum) },
    ...{ '--earn-minimum-total': brl(rules.earnMinimumTotal), '--grant-maximum': brl(rules.grantMaximum) },
    ...{ '--grant-daily-maximum': brl(rules.grantDailyMaximum) },
    ...(rules.earnMaximum !== null && { '--earn-maximum': brl(rules.earnMaximum) }),
    ...(rules.earnRateMaximum !== null && { '--earn-rate-maximum': decimal(rules.earnRateMaximum) }),
    ...{ '--release-days': rules.releaseDays, '--validity-days': rules.validityDays, '--time-zone': rules.timeZone },
    ...{ '--order-ttl-minutes': rules.orderTtlMinutes, '--max-order-ttl-minutes': rules.maxOrderTtlMinutes },
    ...{ '--late-sale-days': rules.lateSaleDays, '--earn-rates-by-payment-method': JSON.stringify(rates) },
  };
  return Object.entries(values).flat().map(String);
}

type View = (value: never) => unknown;
const asIs: View = (value) => value;
const moneyView = (amount: bigint | null): unknown => (amount === null ? null : brl(amount));
const rateView = (rate: bigint | null): unknown => (rate === null ? null : share(rate));

/** The members of each rule in responses: "Rates and shares are decimal strings: `"0.05"` is 5 %." */
const MEMBERS: Record<keyof Rules, [name: string, view: View]> = {
  earnRate: ['earn_rate', rateView],
  earnRates: ['earn_rates_by_payment_method', (rates) => mapped(rates, rateView)],
  earnMinimumTotal: ['earn_minimum_total', moneyView],
  earnMaximum: ['earn_maximum', moneyView],
  earnRateMaximum: ['earn_rate_maximum', rateView],
  redeemShare: ['redeem_share', rateView],
  redeemMinimumTotal: ['redeem_minimum_total', moneyView],
  redeemMinimum: ['redeem_minimum', moneyView],
  releaseDays: ['release_days', asIs],
  validityDays: ['validity_days', asIs],
  timeZone: ['time_zone', asIs],
  orderTtlMinutes: ['order_ttl_minutes', asIs],
  maxOrderTtlMinutes: ['max_order_ttl_minutes', asIs],
  grantMaximum: ['grant_maximum', moneyView],
  grantDailyMaximum: ['grant_daily_maximum', moneyView],
  lateSaleDays: ['late_sale_days', asIs],
};

/** What no policy of the model changes. */
const FIXED = { document_check_digits: false, earn_rate_ceiling: '0.20', redeem_share_ceiling: '0.50' };

/** Rules as responses have them: all of a policy, or what is different in a campaign. */
export function rulesView(rules: Partial<Rules>): object {
  const shown = Object.entries(rules).map(([rule, value]) => {
    const [name, view] = MEMBERS[rule as keyof Rules];
    return [name, view(value as never)] as const;
  });
  return { ...Object.fromEntries(shown), ...('timeZone' in rules && FIXED) };
}

/** What is different in a campaign, as a request has it. */
export function rulesBody(changes: Partial<Rules>): object {
  const rate = (value: bigint): string => String(Number(value) / 10_000);
  const sent = Object.entries(changes).map(([rule, value]) => {
    const [name, view] = MEMBERS[rule as keyof Rules];
    if (view === rateView) return [name, value === null ? null : rate(value as bigint)] as const;
    return [name, rule === 'earnRates' ? mapped(value as Rules['earnRates'], rate) : view(value as never)] as const;
  });
  return Object.fromEntries(sent);
}

const mapped = (rates: Rules['earnRates'], view: (rate: bigint) => unknown): object =>
  Object.fromEntries(Object.entries(rates).map(([id, rate]) => [id, view(rate)]));

/** What an order costs, as responses say it: with all members, and with two decimals. */
export interface Amounts {
  total: string;
  eligible_total: string;
  payment_methods: { id: string; amount: string }[];
  /** Null if the policy's rates decide. */
  earn_amount: string | null;
}

/** "rates match `payment_methods[].id` ignoring ASCII case" */
export const rateOf = (rules: Rules, id: string): bigint => rules.earnRates[id.toLowerCase()] ?? rules.earnRate;

export const paid = (payments: Amounts['payment_methods']): bigint => sum(payments.map(({ amount }) => cents(amount)));

/**
 * "maximum `= min(B, floor(E × redeem_share))`". Without a balance "`redeem` is not compared with a balance".
 *
 * @param frozen what the order holds, if its wallet is frozen
 */
export function maximumOf(
  rules: Rules,
  amounts: Amounts,
  balance?: bigint,
  frozen?: bigint,
): { maximum: bigint; limitedBy: string | null } {
  const total = cents(amounts.total);
  if (total < rules.redeemMinimumTotal) return { maximum: 0n, limitedBy: 'minimum_total' };
  const share = (cents(amounts.eligible_total) * rules.redeemShare) / 10_000n;
  // "the maximum of an order is what it already holds, `limited_by: "frozen"`, unless `minimum_total` applies or the
  // order share is less than what it holds", "(before `redeem_minimum`)"
  if (frozen !== undefined && share >= frozen) return { maximum: frozen, limitedBy: 'frozen' };
  const maximum = min(balance ?? share, share);
  if (maximum < rules.redeemMinimum) return { maximum: 0n, limitedBy: 'redeem_minimum' };
  // "`order_share` where the share is less than both `B` and `T`; else `balance` where `B` is less than `T`"
  if (share < total && (balance === undefined || share < balance)) return { maximum, limitedBy: 'order_share' };
  return { maximum, limitedBy: balance !== undefined && balance < total ? 'balance' : null };
}

/** What an order earns, and what limits it. */
export interface Earned {
  amount: bigint;
  limitedBy: string | null;
}

/** "0 where `T < earn_minimum_total`, at most `earn_maximum`" */
export function toReceive(rules: Rules, amounts: Amounts, redeemed: bigint): Earned {
  if (cents(amounts.total) < rules.earnMinimumTotal) return { amount: 0n, limitedBy: 'minimum_total' };
  const amount = unlimited(rules, amounts, redeemed);
  const { earnMaximum } = rules;
  const isLimited = earnMaximum !== null && amount > earnMaximum;
  return isLimited ? { amount: earnMaximum, limitedBy: 'maximum' } : { amount, limitedBy: null };
}

/** "at most `floor(E × earn_rate_maximum)`", and without `earn_rate_maximum` only "0.00" */
export const mostToAsk = ({ earnRateMaximum }: Rules, { eligible_total }: Amounts): bigint =>
  (cents(eligible_total) * (earnRateMaximum ?? 0n)) / 10_000n;

/**
 * "to receive `= floor( (E − R) × (Σ A_i r_i + U r_0) / ((ΣA_i + U) × 10000) )`; 0 where `ΣA_i + U = 0`", or
 * "`floor(earn_amount × (E − R) / E)`; 0 where `E` is 0"
 */
function unlimited(
  rules: Rules,
  { total, eligible_total, payment_methods, earn_amount }: Amounts,
  redeemed: bigint,
): bigint {
  const eligible = cents(eligible_total);
  if (earn_amount !== null) return eligible === 0n ? 0n : (cents(earn_amount) * (eligible - redeemed)) / eligible;
  const uncovered = max(0n, cents(total) - paid(payment_methods) - redeemed);
  const base = paid(payment_methods) + uncovered;
  const rated = payment_methods.map(({ id, amount }) => cents(amount) * rateOf(rules, id));
  if (base === 0n) return 0n;
  return ((eligible - redeemed) * (sum(rated) + uncovered * rules.earnRate)) / (base * 10_000n);
}

export interface Validity {
  availableAt: number;
  expiresAt: number;
  availableOn: string;
  expiresOn: string;
}

/**
 * "`available_on = d + release_days`"; "`expires_on = available_on + validity_days − 1`". "A late sale has the rules of
 * `sold_at`, and its day is `d`. It can be spent from its arrival at the earliest, and at least through that day."
 */
export function earnedValidity(rules: Rules, at: number, soldAt = at): Validity {
  const today = localDate(at, rules.timeZone);
  const availableOn = addDays(localDate(soldAt, rules.timeZone), rules.releaseDays);
  const expiresOn = addDays(availableOn, rules.validityDays - 1);
  return validity(rules, at, availableOn < today ? today : availableOn, expiresOn < today ? today : expiresOn);
}

/** "A past `available_on` means now … Without `expires_on` the grant is valid for `validity_days`." */
export function grantValidity(rules: Rules, at: number, from?: string, to?: string): Validity {
  const today = localDate(at, rules.timeZone);
  return validity(rules, at, from !== undefined && from > today ? from : today, to);
}

/** "from 00:00 of that day, but never before completion"; "`expires_at` is 00:00 of the day after" */
function validity(rules: Rules, at: number, availableOn: string, to?: string): Validity {
  const expiresOn = to ?? addDays(availableOn, rules.validityDays - 1);
  const availableAt = Math.max(at, startOfDay(availableOn, rules.timeZone));
  return { availableAt, expiresAt: startOfDay(addDays(expiresOn, 1), rules.timeZone), availableOn, expiresOn };
}
