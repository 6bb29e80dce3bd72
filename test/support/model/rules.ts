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

/** How long cashback is available after its release if it expired while it was held. */
export const COMEBACK = 7 * DAY;

export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);

export const total = (amounts: Iterable<bigint>): bigint => {
  let sum = 0n;
  for (const amount of amounts) sum += amount;
  return sum;
};

/** Formats centavos like the service. */
export function brl(cents: bigint): string {
  return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
}

/** maximum = min(B, floor(T × share)), or 0 below the minimum total, and the rule that limits it. */
export function maximumOf(orderTotal: bigint, balance: bigint, rules: Rules): { cents: bigint; limitedBy: LimitedBy } {
  if (orderTotal < rules.minimumTotal) return { cents: 0n, limitedBy: 'minimum_total' };
  const share = (orderTotal * rules.shareBps) / 10_000n;
  const cents = least(balance, share);
  if (share < balance && share < orderTotal) return { cents, limitedBy: 'order_share' };
  return { cents, limitedBy: balance < orderTotal ? 'balance' : null };
}

/** floor( (T − R) × (Σ A_i r_i + U r_0) / (T × 10000) ) */
export function toReceive(orderTotal: bigint, methods: readonly Method[], redeemed: bigint, rules: Rules): bigint {
  const unnamed = orderTotal - total(methods.map(({ cents }) => cents));
  const rateOf = (id: string): bigint =>
    Object.hasOwn(rules.earnBpsByMethod, id) ? rules.earnBpsByMethod[id]! : rules.earnBps;
  const weights = total(methods.map(({ id, cents }) => cents * rateOf(id)));
  return ((orderTotal - redeemed) * (weights + unnamed * rules.earnBps)) / (orderTotal * 10_000n);
}
