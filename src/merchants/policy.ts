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
  /** Whether the rules of some days can change it; by default, they can. */
  isDated?: false;
}

/**
 * The cashback rules of a merchant: all that there is to say of each. An order keeps a copy of those that were valid at
 * its creation, so only rules of cashback belong here; other settings are columns of `Merchant`.
 */
export const RULES = {
  earnRateBps: { kind: 'rate', default: 500, says: 'Share of the paid amount that is earned as cashback.' },
  earnRatesByPaymentMethod: {
    kind: 'rates',
    default: {},
    says: 'Rates that replace `earn_rate` for single payment methods, by `payment_methods[].id`, ignoring ASCII case. "0.00"\nexcludes a method.',
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
  },
  redeemShareBps: {
    kind: 'rate',
    default: 5000,
    says: "Maximum share of an order's eligible total that can be redeemed.",
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
  },
  grantDailyMaximumCents: {
    kind: 'money',
    default: 500_000,
    says: "The most that an API user grants in a day of the merchant's time zone, in BRL. All together grant at most four\ntimes as much.",
  },
  timeZone: {
    kind: 'time_zone',
    default: 'America/Sao_Paulo',
    says: 'The IANA time zone in which calendar days begin.',
    isDated: false,
  },
  documentCheckDigits: {
    kind: 'flag',
    default: false,
    says: 'Whether a new customer needs a document with correct check digits. The operator can decide it for all merchants.',
    isDated: false,
  },
} as const satisfies Record<string, Rule>;

type Rules = typeof RULES;

/** The rules of a merchant, with money in centavos and rates in basis points. */
export type Policy = {
  [Name in keyof Rules]: Values[Rules[Name]['kind']] | Extract<Rules[Name]['default'], null>;
};

/** The rules with their names, in order. */
export const RULE_ENTRIES = Object.entries(RULES) as [keyof Policy, Rule][];

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
