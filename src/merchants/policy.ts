/** The cashback rules of a merchant; an order keeps the ones it was quoted with. */
export interface Policy {
  /** Share of what is paid that comes back, in basis points: 500 is 5 %. */
  earnRateBps: number;
  /** Overrides of the earn rate by `payment_methods[].id`; 0 excludes a method. */
  earnRatesByPaymentMethod: Record<string, number>;
  /** Most of an order's total that may be redeemed, in basis points. */
  redeemShareBps: number;
  /** Orders with a lower total redeem nothing. */
  redeemMinimumTotalCents: number;
  /** Days from completion until the cashback can be spent; 8 outlasts the 7 in which a distance purchase can be withdrawn. */
  releaseDays: number;
  /** Days it can then be spent. */
  validityDays: number;
  /** Until when an order can be finished, and how long a hold lasts. */
  orderTtlMinutes: number;
}

export const DEFAULT_POLICY: Policy = {
  earnRateBps: 500,
  earnRatesByPaymentMethod: {},
  redeemShareBps: 5000,
  redeemMinimumTotalCents: 0,
  releaseDays: 8,
  validityDays: 180,
  orderTtlMinutes: 30,
};

/**
 * Reads a stored policy. A member that it lacks, because it was stored before that member existed, has its default: so the
 * default of a new member must be what the service did before.
 */
export function policyFrom(stored: Partial<Policy>): Policy {
  return { ...DEFAULT_POLICY, ...stored };
}

/** For the columns that hold a policy. */
export const policyTransformer = { to: (policy: Policy) => policy, from: policyFrom };
