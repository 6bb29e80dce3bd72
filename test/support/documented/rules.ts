import { addDays, localDate, startOfDay } from './days.js';
import { max, min, sum } from './money.js';

/** A policy as docs/cashback.md lists it. Rates and shares are basis points, amounts are centavos. */
export interface Rules {
  earnRate: bigint;
  earnRates: Record<string, bigint>;
  redeemShare: bigint;
  redeemMinimumTotal: bigint;
  releaseDays: number;
  validityDays: number;
  orderTtlMinutes: number;
  maxOrderTtlMinutes: number;
  grantMaximum: bigint;
  timeZone: string;
}

export interface Payment {
  id: string;
  amount: bigint;
}

export type LimitedBy = 'minimum_total' | 'order_share' | 'balance' | null;

/** "rates match `payment_methods[].id` ignoring ASCII case" */
export const rateOf = (rules: Rules, id: string): bigint => rules.earnRates[id.toLowerCase()] ?? rules.earnRate;

/** cashback.md, "What an order says". Without a balance: "`redeem` is not compared with a balance". */
export function maximumOf(
  rules: Rules,
  { total, eligible }: { total: bigint; eligible: bigint },
  balance: bigint | undefined,
): { maximum: bigint; limitedBy: LimitedBy } {
  // "or 0 where `T < redeem_minimum_total`. `limited_by` is `minimum_total` where that rule gives 0"
  if (total < rules.redeemMinimumTotal) return { maximum: 0n, limitedBy: 'minimum_total' };
  // "`min(B, floor(E × redeem_share))`"
  const share = (eligible * rules.redeemShare) / 10_000n;
  const maximum = balance === undefined ? share : min(balance, share);
  // "else `order_share` where the share is less than both `B` and `T`"
  if (share < total && (balance === undefined || share < balance)) return { maximum, limitedBy: 'order_share' };
  // "else `balance` where `B` is less than `T`; else `null`"
  return { maximum, limitedBy: balance !== undefined && balance < total ? 'balance' : null };
}

/** "floor( (E − R) × (Σ A_i r_i + U r_0) / ((ΣA_i + U) × 10000) ); 0 where ΣA_i + U = 0" */
export function toReceive(
  rules: Rules,
  { total, eligible, payments }: { total: bigint; eligible: bigint; payments: Payment[] },
  redeemed: bigint,
): bigint {
  const paid = sum(payments.map(({ amount }) => amount));
  // "`U = max(0, T − ΣA_i − R)`, earns the base rate `r_0`"
  const uncovered = max(0n, total - paid - redeemed);
  if (paid + uncovered === 0n) return 0n;
  const weighted = sum(payments.map(({ id, amount }) => amount * rateOf(rules, id))) + uncovered * rules.earnRate;
  return ((eligible - redeemed) * weighted) / ((paid + uncovered) * 10_000n);
}

export interface Validity {
  availableAt: number;
  expiresAt: number;
  availableOn: string;
  expiresOn: string;
}

/** cashback.md, "Days": the validity of cashback that is earned at an instant. */
export function earnedValidity(rules: Rules, at: number): Validity {
  // "`available_on = d + release_days`. The cashback can be spent from 00:00 of that day, but never before completion"
  const availableOn = addDays(localDate(at, rules.timeZone), rules.releaseDays);
  // "it can be spent through `expires_on = available_on + validity_days − 1`; `expires_at` is 00:00 of the day after"
  const expiresOn = addDays(availableOn, rules.validityDays - 1);
  return {
    availableAt: Math.max(at, startOfDay(availableOn, rules.timeZone)),
    expiresAt: startOfDay(addDays(expiresOn, 1), rules.timeZone),
    availableOn,
    expiresOn,
  };
}

/** cashback.md, "Grants": the days of a grant. */
export function grantValidity(rules: Rules, at: number, from: string | undefined, to: string | undefined): Validity {
  const today = localDate(at, rules.timeZone);
  // "A past `available_on` means now." "Without `expires_on` the grant is valid for `validity_days`."
  const availableOn = from !== undefined && from > today ? from : today;
  const expiresOn = to ?? addDays(availableOn, rules.validityDays - 1);
  return {
    availableAt: Math.max(at, startOfDay(availableOn, rules.timeZone)),
    // "until the end of the other"
    expiresAt: startOfDay(addDays(expiresOn, 1), rules.timeZone),
    availableOn,
    expiresOn,
  };
}
