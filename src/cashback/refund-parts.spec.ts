import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_CENTS, parseMoney, sumCents } from '../platform/values/money.js';
import type { Problem } from '../platform/values/problem.js';
import {
  eligibleBounds,
  type RefundAmounts,
  refundAmounts,
  type RefundedOrder,
  type RefundParts,
  refundParts,
  type RequestedRefund,
} from './refund-parts.js';

type CompletedOrder = Pick<RefundedOrder, 'totalCents' | 'eligibleTotalCents' | 'redeemedCents' | 'earnedCents'>;
interface Step extends RefundParts {
  amountCents: number;
  eligibleCents: number;
}

interface Choices {
  /** The eligible part of the nth refund within the bounds; undefined leaves it to the service. */
  eligibleOf?: (nth: number, bounds: { minimumCents: number; maximumCents: number }) => number | undefined;
  /** What the nth refund takes back, at most what is left; undefined leaves it to the service. */
  takeBackOf?: (nth: number, leftCents: number) => number | undefined;
  /** What had expired unspent before the first refund. */
  expiredCents?: number;
  earnRateMaximumBps?: number;
}

/** Applies refunds one after another. */
function refundInTurn(order: CompletedOrder, amounts: readonly number[], choices: Choices = {}): Step[] {
  const { eligibleOf, takeBackOf, expiredCents = 0, earnRateMaximumBps = null } = choices;
  const state = untouched(order);
  return amounts.map((amountCents, nth) => {
    const eligible = eligibleOf?.(nth, eligibleBounds(state, amountCents)) ?? null;
    const sent = { amountCents, eligibleCents: eligible };
    const asked = takeBackOf?.(nth, state.keptCents) ?? null;
    const refund = amountsOf(state, { ...sent, takeBackCents: asked }, earnRateMaximumBps);
    const { eligibleCents, dueCents } = refund;
    const parts = refundParts(state, refund, expiredCents);
    state.refundedCents += amountCents;
    state.refundedEligibleCents += eligibleCents;
    state.returnedCents += parts.returnedCents;
    state.takenBackCents += parts.takenBackCents;
    state.keptCents -= dueCents;
    return { amountCents, eligibleCents, ...parts };
  });
}

/** The amounts of a refund, with the nearest bound of `take_back` if what it asks for is outside of them. */
function amountsOf(order: RefundedOrder, sent: RequestedRefund, earnRateMaximumBps: number | null): RefundAmounts {
  try {
    return refundAmounts(order, sent, earnRateMaximumBps);
  } catch (error) {
    const { minimum } = (error as Problem).toBody('', '') as { minimum: string };
    return refundAmounts(order, { ...sent, takeBackCents: parseMoney(minimum) }, earnRateMaximumBps);
  }
}

const untouched = (order: CompletedOrder): RefundedOrder => {
  const nothing = { refundedCents: 0, refundedEligibleCents: 0, returnedCents: 0, takenBackCents: 0 };
  return { ...order, ...nothing, keptCents: order.earnedCents };
};

const fraction = fc.double({ min: 0, max: 1, noNaN: true });

/** An order, a sequence of refunds of all of it, and for each the eligible part as a fraction of its bounds, if any. */
const scenario = fc
  .record({
    totalCents: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: MAX_CENTS })),
    eligible: fc.option(fraction),
    redeemed: fraction,
    earned: fraction,
    cuts: fc.array(fraction, { maxLength: 12 }),
    sent: fc.array(fc.option(fc.oneof(fc.constantFrom(0, 1), fraction)), { minLength: 13, maxLength: 13 }),
    taken: fc.array(fc.option(fc.oneof(fc.constantFrom(0, 1), fraction)), { minLength: 13, maxLength: 13 }),
    earnRateMaximumBps: fc.integer({ min: 0, max: 10_000 }),
    expired: fraction,
  })
  .map(({ totalCents, eligible, redeemed, earned, cuts, sent, taken, earnRateMaximumBps, expired }) => {
    const eligibleTotalCents = eligible === null ? null : Math.floor(totalCents * eligible);
    const eligibleCents = eligibleTotalCents ?? totalCents;
    const redeemedCents = Math.floor(eligibleCents * redeemed);
    const earnedCents = Math.floor((eligibleCents - redeemedCents) * earned);
    const edges = [...new Set([0, ...cuts.map((cut) => Math.floor(totalCents * cut)), totalCents])];
    edges.sort((a, b) => a - b);
    return {
      order: { totalCents, eligibleTotalCents, redeemedCents, earnedCents },
      amounts: edges.slice(1).map((edge, at) => edge - edges[at]!),
      eligibleOf: (nth: number, { minimumCents, maximumCents }: { minimumCents: number; maximumCents: number }) => {
        const part = sent[nth] ?? null;
        return part === null ? undefined : minimumCents + Math.floor((maximumCents - minimumCents) * part);
      },
      takeBackOf: (nth: number, leftCents: number) => {
        const part = taken[nth] ?? null;
        return part === null ? undefined : Math.floor(leftCents * part);
      },
      earnRateMaximumBps,
      expiredCents: Math.floor(earnedCents * expired),
    };
  });

const SEQUENCES = { numRuns: 10_000 };
const sumOf = (steps: readonly Step[], member: keyof Step): number => sumCents(steps.map((step) => step[member]));
/** The parts that differ, without the overhead of an assertion per part. */
const wrong = (steps: readonly Step[]): Step[] =>
  steps.filter(
    ({ amountCents, eligibleCents, returnedCents, takenBackCents }) =>
      returnedCents < 0 ||
      returnedCents > amountCents ||
      takenBackCents < 0 ||
      eligibleCents < 0 ||
      eligibleCents > amountCents,
  );

describe('refundParts', () => {
  it('refundParts gives the results of the documented example', () => {
    const order = { totalCents: 10_000, eligibleTotalCents: null, redeemedCents: 1_000, earnedCents: 450 };
    expect(refundInTurn(order, [3333, 3333, 3334])).toEqual([
      { amountCents: 3333, eligibleCents: 3333, returnedCents: 333, takenBackCents: 150 },
      { amountCents: 3333, eligibleCents: 3333, returnedCents: 333, takenBackCents: 150 },
      { amountCents: 3334, eligibleCents: 3334, returnedCents: 334, takenBackCents: 150 },
    ]);
  });

  it.each([
    [
      [
        ['20.00', '0.00', '0.00'],
        ['80.00', null, '4.00'],
      ],
    ],
    [
      [
        ['50.00', null, '2.00'],
        ['50.00', null, '2.00'],
      ],
    ],
    [
      [
        ['30.00', '30.00', '1.50'],
        ['70.00', null, '2.50'],
      ],
    ],
  ] as [string, string | null, string][][][])(
    'refundParts of an order of 100.00, of which 80.00 are eligible and earned 4.00, takes back as in %j',
    (refunds) => {
      const order = { totalCents: 10_000, eligibleTotalCents: 8_000, redeemedCents: 0, earnedCents: 400 };
      const steps = refundInTurn(
        order,
        refunds.map(([amount]) => parseMoney(amount)),
        {
          eligibleOf: (nth) => {
            const sent = refunds[nth]?.[1];
            return typeof sent === 'string' ? parseMoney(sent) : undefined;
          },
        },
      );
      expect(steps.map(({ takenBackCents }) => takenBackCents)).toEqual(
        refunds.map(([, , taken]) => parseMoney(taken)),
      );
    },
  );

  it('refundParts of 10,000 orders add up exactly to each total and are never negative, with and without eligible parts', () => {
    fc.assert(
      fc.property(scenario, ({ order, amounts, eligibleOf }) => {
        const steps = refundInTurn(order, amounts, { eligibleOf });
        expect(wrong(steps)).toEqual([]);
        expect(sumOf(steps, 'eligibleCents')).toBe(order.eligibleTotalCents ?? order.totalCents);
        expect(sumOf(steps, 'returnedCents')).toBe(order.redeemedCents);
        expect(sumOf(steps, 'takenBackCents')).toBe(order.earnedCents);
      }),
      SEQUENCES,
    );
  });

  it('refundParts of 10,000 orders take back all but what had expired unspent, and are never negative', () => {
    fc.assert(
      fc.property(scenario, ({ order, amounts, eligibleOf, expiredCents }) => {
        const steps = refundInTurn(order, amounts, { eligibleOf, expiredCents });
        expect(wrong(steps)).toEqual([]);
        expect(sumOf(steps, 'takenBackCents')).toBe(order.earnedCents - expiredCents);
      }),
      SEQUENCES,
    );
  });

  it('10,000 sequences of refunds with take_back and eligible_amount end at exactly the totals, and a full refund keeps nothing', () => {
    fc.assert(
      fc.property(scenario, ({ order, amounts, expiredCents, ...choices }) => {
        const steps = refundInTurn(order, amounts, choices);
        expect(wrong(steps)).toEqual([]);
        expect(sumOf(steps, 'returnedCents')).toBe(order.redeemedCents);
        expect(sumOf(steps, 'takenBackCents')).toBe(order.earnedCents);
        const expired = refundInTurn(order, amounts, { ...choices, expiredCents });
        expect(sumOf(expired, 'takenBackCents')).toBe(order.earnedCents - expiredCents);
      }),
      SEQUENCES,
    );
  });

  it('the TV comes back with what it earned, and then a part of the clothes', () => {
    // A TV of 200.00 at 1 %, and clothes of 100.00 at 5 %.
    const order = { totalCents: 30_000, eligibleTotalCents: null, redeemedCents: 0, earnedCents: 700 };
    const steps = refundInTurn(order, [20_000, 1_000, 9_000], {
      takeBackOf: (nth) => (nth === 0 ? 200 : undefined),
      earnRateMaximumBps: 500,
    });
    expect(steps.map(({ takenBackCents }) => takenBackCents)).toEqual([200, 50, 450]);
  });

  it('take_back is at most what is left, and leaves at most the default or the highest share of what is not returned', () => {
    const order = untouched({ totalCents: 30_000, eligibleTotalCents: null, redeemedCents: 0, earnedCents: 700 });
    const boundsOf = (amountCents: number, bps: number | null): unknown => {
      try {
        return refundAmounts(order, { amountCents, eligibleCents: null, takeBackCents: 701 }, bps);
      } catch (error) {
        return (error as Problem).toBody('', '');
      }
    };
    expect(boundsOf(20_000, 500)).toMatchObject({ minimum: '2.00', maximum: '7.00' });
    // What the default leaves of 100.00 at 2.33 % is more than 2 %.
    expect(boundsOf(20_000, 200)).toMatchObject({ minimum: '4.67', maximum: '7.00' });
    expect(boundsOf(20_000, null)).toMatchObject({ minimum: '4.67', errors: [{ pointer: '/take_back' }] });
    expect(boundsOf(20_000, 10_000)).toMatchObject({ minimum: '0.00', maximum: '7.00' });
    expect(boundsOf(30_000, 10_000)).toMatchObject({ minimum: '7.00', maximum: '7.00' });
  });

  it('refundParts of an order without an eligible part take nothing back', () => {
    const order = { totalCents: 10_000, eligibleTotalCents: 0, redeemedCents: 0, earnedCents: 0 };
    expect(refundInTurn(order, [1, 9_999])).toEqual([
      { amountCents: 1, eligibleCents: 0, returnedCents: 0, takenBackCents: 0 },
      { amountCents: 9_999, eligibleCents: 0, returnedCents: 0, takenBackCents: 0 },
    ]);
  });
});

describe('eligibleBounds', () => {
  const order = { totalCents: 10_000, eligibleTotalCents: 8_000, redeemedCents: 0, earnedCents: 400 };

  it.each([
    ['no refund', 0, 0, 5_000, 3_000, 5_000],
    ['no refund', 0, 0, 2_000, 0, 2_000],
    ['no refund', 0, 0, 10_000, 8_000, 8_000],
    ['a refund of the ineligible part', 2_000, 0, 1_000, 1_000, 1_000],
    ['a refund of the eligible part', 8_000, 8_000, 1_000, 0, 0],
  ])(
    'after %s (%i, of which %i are eligible), the eligible part of a refund of %i is from %i to %i',
    (_what, refundedCents, refundedEligibleCents, amountCents, minimumCents, maximumCents) => {
      const bounds = eligibleBounds({ ...untouched(order), refundedCents, refundedEligibleCents }, amountCents);
      expect(bounds).toEqual({ minimumCents, maximumCents });
    },
  );

  it('the eligible part of a refund is its amount when the whole order is eligible', () => {
    fc.assert(
      fc.property(scenario, ({ order: { totalCents, redeemedCents, earnedCents }, amounts }) => {
        const steps = refundInTurn({ totalCents, redeemedCents, earnedCents, eligibleTotalCents: null }, amounts, {
          eligibleOf: (_nth, { minimumCents, maximumCents }) => (minimumCents === maximumCents ? undefined : -1),
        });
        expect(steps.filter(({ amountCents, eligibleCents }) => amountCents !== eligibleCents)).toEqual([]);
      }),
    );
  });
});
