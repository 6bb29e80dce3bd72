import fc from 'fast-check';

/** An amount that is computed when its step runs: near a limit, or any amount. */
export type Amount = { ofLimit: number; plusCents: number } | { cents: number };

/** How a total is split over payment methods, in percent. `overByCents` makes it exceed the total. */
export interface Split {
  parts: { id: string; percent: number }[];
  overByCents: number;
}

/** The eligible part of a refund: where it is between its bounds, in percent, and how far from there. */
export interface EligiblePart {
  percent: number;
  plusCents: number;
}

/** A member that can differ from the first request of an order. */
type Difference = '/total' | '/document' | '/eligible_total' | '/payment_methods';

/**
 * One action of a merchant or the operator, or the passage of time. Orders are selected by number, modulo their count.
 */
export type Step =
  | { do: 'grant'; merchant: number; customer: number; cents: number; inDays: number; forDays: number | null }
  | { do: 'void'; grant: number; again: boolean }
  | {
      do: 'create';
      merchant: number;
      customer: number;
      cents: number;
      /** The eligible part of the total, in percent; null if the request does not say. */
      eligiblePercent: number | null;
      split: Split;
      again: boolean;
    }
  | { do: 'create again'; order: number; differ: Difference[]; first: boolean }
  | {
      do: 'quote';
      merchant: number;
      /** Null for a quote without a document. */
      customer: number | null;
      cents: number;
      eligiblePercent: number | null;
      split: Split;
      /** In relation to the maximum. */
      redeem: Amount | null;
    }
  | {
      do: 'amend';
      order: number;
      /** The new total; null keeps it. In relation to the least total that allows the hold. */
      amount: Amount | null;
      eligiblePercent: number | null;
      /** Null keeps the payment methods if they fit, and otherwise sends none. */
      split: Split | null;
      lower: boolean;
      /** How the version in If-Match differs from that of the order; null for no If-Match. */
      version: number | null;
      again: boolean;
    }
  | { do: 'hold'; order: number; amount: Amount; minutes: number | null; again: boolean }
  | { do: 'complete'; order: number; redeem: Amount | null; split: Split | null; again: boolean }
  | { do: 'cancel'; order: number; again: boolean }
  | {
      do: 'refund';
      order: number;
      amount: Amount;
      /** Null if the request does not have it. */
      eligible: EligiblePart | null;
      name: number | null;
      again: boolean;
    }
  | { do: 'look'; order: number; asOther: boolean }
  | { do: 'change policy'; merchant: number; earnBps: number; shareBps: number }
  /** `sweep`: what is due expires before the next step. */
  | { do: 'wait'; minutes: number; sweep: boolean }
  | { do: 'wait for a date'; which: number; plusMs: number; sweep: boolean };

export const MERCHANTS = 2;
export const CUSTOMERS = 3;

/** Steps are plain objects, because a failed sequence is printed. */
const record = <T>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(members, { noNullPrototype: true });

const merchant = fc.nat({ max: MERCHANTS - 1 });
const customer = fc.nat({ max: CUSTOMERS - 1 });
/** Usually one of the latest orders, because old orders seldom have anything left to do. */
const order = fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 2 }) }, { weight: 1, arbitrary: fc.nat({ max: 30 }) });
const again = fc.boolean();
const cents = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 100, max: 40_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 1, arbitrary: fc.constantFrom(4_999, 5_000, 99_999_999_999) },
);
const amount: fc.Arbitrary<Amount> = fc.oneof(
  {
    weight: 5,
    arbitrary: record({ ofLimit: fc.constantFrom(100, 100, 50, 33), plusCents: fc.constantFrom(0, 0, 0, 1, -1) }),
  },
  { weight: 1, arbitrary: record({ cents: fc.constantFrom(0, 1, 500) }) },
);
/** How many minutes later an order is to expire, if the request says so. */
const minutes = fc.constantFrom(null, null, null, null, 0, 1, 60, 10_080, 10_081);
const split: fc.Arbitrary<Split> = record({
  parts: fc.array(
    record({
      id: fc.constantFrom('credit_card', 'pix', 'PIX', 'boleto', 'constructor'),
      percent: fc.constantFrom(10, 33, 50),
    }),
    { maxLength: 2 },
  ),
  overByCents: fc.oneof({ weight: 15, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
});

const eligiblePercent = fc.constantFrom(null, null, null, 100, 80, 0);

const DAY_MINUTES = 24 * 60;

export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: record({
      do: fc.constant('grant' as const),
      merchant,
      customer,
      cents,
      inDays: fc.constantFrom(0, 0, 0, 3),
      forDays: fc.constantFrom(null, 1, 5, 30),
    }),
  },
  {
    weight: 5,
    arbitrary: record({
      do: fc.constant('create' as const),
      merchant,
      customer,
      cents,
      eligiblePercent,
      split,
      again,
    }),
  },
  {
    weight: 4,
    arbitrary: record({
      do: fc.constant('amend' as const),
      order,
      amount: fc.option<Amount>(amount),
      eligiblePercent,
      split: fc.option<Split>(split, { freq: 2 }),
      lower: fc.boolean(),
      version: fc.constantFrom(null, null, null, 0, -1),
      again,
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      do: fc.constant('quote' as const),
      merchant,
      customer: fc.option<number>(customer),
      cents,
      eligiblePercent,
      split,
      redeem: fc.option<Amount>(amount),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      do: fc.constant('create again' as const),
      order,
      differ: fc.subarray<Difference>(['/document', '/total', '/eligible_total', '/payment_methods']),
      first: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: record({ do: fc.constant('void' as const), grant: fc.nat({ max: 5 }), again }) },
  { weight: 7, arbitrary: record({ do: fc.constant('hold' as const), order, amount, minutes, again }) },
  {
    weight: 7,
    arbitrary: record({
      do: fc.constant('complete' as const),
      order,
      redeem: fc.option<Amount>(amount),
      split: fc.option<Split>(split, { freq: 2 }),
      again,
    }),
  },
  { weight: 2, arbitrary: record({ do: fc.constant('cancel' as const), order, again }) },
  {
    weight: 6,
    arbitrary: record({
      do: fc.constant('refund' as const),
      order,
      amount,
      eligible: fc.option<EligiblePart>(
        record({ percent: fc.constantFrom(0, 0, 100, 100, 50, 7), plusCents: fc.constantFrom(0, 0, 0, 1, -1) }),
        { freq: 2 },
      ),
      name: fc.option<number>(fc.nat({ max: 3 }), { freq: 2 }),
      again,
    }),
  },
  { weight: 1, arbitrary: record({ do: fc.constant('look' as const), order, asOther: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: record({
      do: fc.constant('change policy' as const),
      merchant,
      earnBps: fc.constantFrom(0, 100, 500, 10_000),
      shareBps: fc.constantFrom(3_000, 5_000, 10_000),
    }),
  },
  {
    weight: 2,
    arbitrary: record({
      do: fc.constant('wait' as const),
      minutes: fc.constantFrom(1, 10, 30, 60, DAY_MINUTES, 8 * DAY_MINUTES, 60 * DAY_MINUTES),
      sweep: fc.boolean(),
    }),
  },
  // The interesting times are just before, at, and after a date.
  {
    weight: 5,
    arbitrary: record({
      do: fc.constant('wait for a date' as const),
      which: fc.nat({ max: 2 }),
      plusMs: fc.constantFrom(-1, 0, 0, 1),
      sweep: fc.boolean(),
    }),
  },
);
