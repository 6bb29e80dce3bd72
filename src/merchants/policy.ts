/** What a rule's value is in the program. `rates` are by payment method, `integer` has a range. */
interface Values {
  /** In basis points: 500 is 5 %. */
  rate: number;
  rates: Record<string, number>;
  money: number;
  integer: number;
  flag: boolean;
  time_zone: string;
}

export interface Rule {
  kind: keyof Values;
  /** Null for a rule that is off. A new rule of orders is off, because the copies that orders keep do not have it. */
  default: Values[keyof Values] | null;
  /** What it says, for the OpenAPI document and the command line. */
  says: string;
  /** The least and the most of an integer. */
  range?: readonly [number, number];
  /** Whether only the operator sets it: over HTTP, neither the base nor a campaign can change it. */
  isOperators?: true;
  /** Whether campaigns can change it; by default, they can change what is not the operator's alone. */
  isDated?: false;
  /** The rule below which it stays if it is set over HTTP. */
  ceiling?: string;
}

/**
 * The cashback rules of a merchant: all that there is to say of each. An order keeps a copy of those that were valid at
 * its creation, so only rules of cashback belong here; other settings are columns of `Merchant`.
 */
export const RULES = {
  earnRateBps: {
    kind: 'rate',
    default: 500,
    says: 'Share of the paid amount that is earned as cashback.',
    ceiling: 'earnRateCeilingBps',
  },
  earnRatesByPaymentMethod: {
    kind: 'rates',
    default: {},
    says: 'Rates that replace `earn_rate` for single payment methods, by `payment_methods[].id`, ignoring ASCII case. "0.00"\nexcludes a method.',
    ceiling: 'earnRateCeilingBps',
  },
  earnMinimumTotalCents: { kind: 'money', default: 0, says: 'Orders below this total earn nothing.' },
  earnMaximumCents: {
    kind: 'money',
    default: null,
    says: 'The most that one order earns; null if nothing limits it.',
  },
  earnRateMaximumBps: {
    kind: 'rate',
    default: null,
    says: "The share of an order's eligible total that it can ask to earn (`earn_amount`); null if it cannot.",
    ceiling: 'earnRateCeilingBps',
  },
  redeemShareBps: {
    kind: 'rate',
    default: 5000,
    says: "Maximum share of an order's eligible total that can be redeemed.",
    ceiling: 'redeemShareCeilingBps',
  },
  redeemMinimumTotalCents: {
    kind: 'money',
    default: 0,
    says: 'No cashback can be redeemed on orders below this total.',
  },
  redeemMinimumCents: { kind: 'money', default: 0, says: 'The least that can be redeemed at once.' },
  // Longer than the 7 days in which customers can withdraw.
  releaseDays: {
    kind: 'integer',
    default: 8,
    range: [0, 3650],
    says: 'Calendar days from completion until earned cashback is available.',
  },
  validityDays: {
    kind: 'integer',
    default: 180,
    range: [1, 36_500],
    says: 'Calendar days for which cashback is then available.',
  },
  orderTtlMinutes: {
    kind: 'integer',
    default: 30,
    range: [1, 525_600],
    says: 'Minutes until a pending order and its hold expire.',
  },
  maxOrderTtlMinutes: {
    kind: 'integer',
    default: 10_080,
    range: [1, 525_600],
    says: 'Longest lifetime that an order can request, in minutes.',
  },
  grantMaximumCents: {
    kind: 'money',
    default: 100_000,
    says: 'The most that `POST /grants` grants at once, in BRL.',
    isOperators: true,
  },
  grantDailyMaximumCents: {
    kind: 'money',
    default: 500_000,
    says: "The most that an API user grants in a day of the merchant's time zone, in BRL. All together grant at most four\ntimes as much.",
    isOperators: true,
  },
  timeZone: {
    kind: 'time_zone',
    default: 'America/Sao_Paulo',
    says: 'The IANA time zone in which calendar days begin.',
    isOperators: true,
  },
  documentCheckDigits: {
    kind: 'flag',
    default: false,
    says: 'Whether a new customer needs a document with correct check digits. The operator can decide it for all merchants.',
    isDated: false,
  },
  lateSaleDays: {
    kind: 'integer',
    default: 0,
    range: [0, 7],
    says: 'How many days ago a sale can have happened that arrives now (`sold_at`): at most `release_days`. 0 if none can.',
    isOperators: true,
  },
  earnRateCeilingBps: {
    kind: 'rate',
    default: 2000,
    says: 'The highest rate that `PATCH /policy` and campaigns can set, also for a payment method and for `earn_rate_maximum`.',
    isOperators: true,
  },
  redeemShareCeilingBps: {
    kind: 'rate',
    default: 5000,
    says: 'The highest `redeem_share` that `PATCH /policy` and campaigns can set.',
    isOperators: true,
  },
} as const satisfies Record<string, Rule>;

type Rules = typeof RULES;

/** The rules of a merchant, with money in centavos and rates in basis points. */
export type Policy = {
  [Name in keyof Rules]: Values[Rules[Name]['kind']] | Extract<Rules[Name]['default'], null>;
};

/** The rules with their names, in order. */
export const RULE_ENTRIES = Object.entries(RULES) as [keyof Policy, Rule][];

/** The rules that only the operator sets, those that `PATCH /policy` can change, and those that campaigns can. */
export const OPERATOR_RULES = RULE_ENTRIES.filter(([, { isOperators }]) => isOperators);
export const BASE_RULES = RULE_ENTRIES.filter(([, { isOperators }]) => !isOperators);
export const CAMPAIGN_RULES = BASE_RULES.filter(([, { isDated }]) => isDated !== false);

export const DEFAULT_POLICY = Object.fromEntries(
  RULE_ENTRIES.map(([name, rule]) => [name, rule.default]),
) as unknown as Policy;

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
