/**
 * The cashback rules of a merchant. Each order keeps a copy of those that were valid at its creation, so only rules of
 * cashback belong here; other settings are columns of `Merchant`. The default of a new rule of orders is "off", because
 * the copies that exist do not have it.
 */
export interface Policy {
  /** Share of the paid amount that is earned as cashback, in basis points: 500 is 5 %. */
  earnRateBps: number;
  /**
   * Earn rates by `payment_methods[].id`, ignoring ASCII case, which override the general rate. 0 excludes a method.
   */
  earnRatesByPaymentMethod: Record<string, number>;
  /** Orders with a lower total earn nothing. */
  earnMinimumTotalCents: number;
  /** The most that one order earns; null if nothing limits it. */
  earnMaximumCents: number | null;
  /** The most that an order can ask to earn (`earn_amount`), as a share of its eligible total; null if it cannot. */
  earnRateMaximumBps: number | null;
  /** Maximum share of an order's eligible total that can be redeemed, in basis points. */
  redeemShareBps: number;
  /** No cashback can be redeemed on orders with a lower total. */
  redeemMinimumTotalCents: number;
  /** The least that can be redeemed at once. */
  redeemMinimumCents: number;
  /**
   * Calendar days from completion until the cashback is available; 8 is longer than the 7 days in which customers can
   * withdraw.
   */
  releaseDays: number;
  /** Calendar days for which it is then available. */
  validityDays: number;
  /** Minutes until a pending order and its hold expire, unless the request says otherwise. */
  orderTtlMinutes: number;
  /** Longest lifetime that an order can request, in minutes. */
  maxOrderTtlMinutes: number;
  /** The most that an API user can grant at once. It does not bind the operator. */
  grantMaximumCents: number;
  /** The most that an API user can grant in a local day, and a quarter of what all of the merchant's can. */
  grantDailyMaximumCents: number;
  /** The IANA time zone in which calendar days begin. */
  timeZone: string;
}

/** The least and the most of the rules that are whole numbers. */
export const POLICY_RANGES = {
  releaseDays: [0, 3650],
  validityDays: [1, 36_500],
  orderTtlMinutes: [1, 525_600],
  maxOrderTtlMinutes: [1, 525_600],
} as const satisfies Partial<Record<keyof Policy, readonly [number, number]>>;

export const DEFAULT_POLICY: Policy = {
  earnRateBps: 500,
  earnRatesByPaymentMethod: {},
  earnMinimumTotalCents: 0,
  earnMaximumCents: null,
  earnRateMaximumBps: null,
  redeemShareBps: 5000,
  redeemMinimumTotalCents: 0,
  redeemMinimumCents: 0,
  releaseDays: 8,
  validityDays: 180,
  orderTtlMinutes: 30,
  maxOrderTtlMinutes: 10_080,
  grantMaximumCents: 100_000,
  grantDailyMaximumCents: 500_000,
  timeZone: 'America/Sao_Paulo',
};

export function isSamePaymentMethod(one: string, other: string): boolean {
  return asciiLowerCase(one) === asciiLowerCase(other);
}

function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

export function policyFrom(stored: Partial<Policy>): Policy {
  return { ...DEFAULT_POLICY, ...stored };
}

export const policyTransformer = { to: (policy: Policy) => policy, from: policyFrom };
