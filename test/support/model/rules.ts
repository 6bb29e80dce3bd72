/**
 * The cashback rules as plain arithmetic in bigint. They are written from docs/cashback.md and import nothing from the
 * service, so that the responses of the service can be compared with them.
 */

export interface Rules {
  earnBps: bigint;
  earnBpsByMethod: Record<string, bigint>;
  shareBps: bigint;
  minimumTotal: bigint;
  releaseDays: number;
  validityDays: number;
  ttlMinutes: number;
  zone: string;
}

export interface Method {
  id: string;
  cents: bigint;
}

export type LimitedBy = 'balance' | 'order_share' | 'minimum_total' | null;

export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;

/** The most minutes until an order expires, if the request says when. */
export const MOST_MINUTES = 7 * 24 * 60;

/** The last day on which an amount can be spent that returns to an expired credit is the local date plus this. */
export const REINSTATED_DAYS = 7;

export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);

export const total = (amounts: Iterable<bigint>): bigint => {
  let sum = 0n;
  for (const amount of amounts) sum += amount;
  return sum;
};

/** Formats centavos like the service. */
export function brl(cents: bigint): string {
  return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
}

/** maximum = min(B, floor(E × share)), or 0 below the minimum total, and the rule that limits it. */
export function maximumOf(
  orderTotal: bigint,
  eligible: bigint,
  balance: bigint,
  rules: Rules,
): { cents: bigint; limitedBy: LimitedBy } {
  if (orderTotal < rules.minimumTotal) return { cents: 0n, limitedBy: 'minimum_total' };
  const share = (eligible * rules.shareBps) / 10_000n;
  const cents = least(balance, share);
  if (share < balance && share < orderTotal) return { cents, limitedBy: 'order_share' };
  return { cents, limitedBy: balance < orderTotal ? 'balance' : null };
}

/** The rate of a payment method, ignoring ASCII case. */
export function rateOf(id: string, rules: Rules): bigint {
  const lower = (text: string): string => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  const named = Object.entries(rules.earnBpsByMethod).filter(([method]) => lower(method) === lower(id));
  return (named.find(([method]) => method === id) ?? named[0])?.[1] ?? rules.earnBps;
}

/** floor( (E − R) × (Σ A_i r_i + U r_0) / ((Σ A_i + U) × 10000) ) with U = max(0, T − Σ A_i − R) */
export function toReceive(
  order: { total: bigint; eligible: bigint; methods: readonly Method[]; redeemed: bigint },
  rules: Rules,
): bigint {
  const named = total(order.methods.map(({ cents }) => cents));
  const rest = order.total - named - order.redeemed;
  const unnamed = rest > 0n ? rest : 0n;
  if (named + unnamed === 0n) return 0n;
  const weights = total(order.methods.map(({ id, cents }) => cents * rateOf(id, rules)));
  return ((order.eligible - order.redeemed) * (weights + unnamed * rules.earnBps)) / ((named + unnamed) * 10_000n);
}
