import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_CENTS, parseMoney, sumCents } from '../common/money.js';
import {
  eligibleBounds,
  proportionalEligibleCents,
  type RefundedOrder,
  type RefundParts,
  refundParts,
} from './refund-parts.js';

type CompletedOrder = Pick<RefundedOrder, 'totalCents' | 'eligibleTotalCents' | 'redeemedCents' | 'earnedCents'>;
interface Step extends RefundParts {
  amountCents: number;
  eligibleCents: number;
}

/**
 * Applies refunds one after another.
 *
 * @param eligibleOf chooses the eligible part of the nth refund within the bounds; undefined leaves it to the service.
 * @param expiredCents what had expired unspent before the first refund.
 */
function refundInTurn(
  order: CompletedOrder,
  amounts: readonly number[],
  eligibleOf: (nth: number, bounds: { minimumCents: number; maximumCents: number }) => number | undefined = () =>
    undefined,
  expiredCents = 0,
): Step[] {
  const state = { ...order, refundedCents: 0, refundedEligibleCents: 0, returnedCents: 0, takenBackCents: 0 };
  return amounts.map((amountCents, nth) => {
    const eligibleCents =
      eligibleOf(nth, eligibleBounds(state, amountCents)) ?? proportionalEligibleCents(state, amountCents);
    const parts = refundParts(state, { amountCents, eligibleCents }, expiredCents);
    state.refundedCents += amountCents;
    state.refundedEligibleCents += eligibleCents;
    state.returnedCents += parts.returnedCents;
    state.takenBackCents += parts.takenBackCents;
    return { amountCents, eligibleCents, ...parts };
  });
}

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
    expired: fraction,
  })
  .map(({ totalCents, eligible, redeemed, earned, cuts, sent, expired }) => {
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
        (nth) => {
          const sent = refunds[nth]?.[1];
          return typeof sent === 'string' ? parseMoney(sent) : undefined;
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
        const steps = refundInTurn(order, amounts, eligibleOf);
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
        const steps = refundInTurn(order, amounts, eligibleOf, expiredCents);
        expect(wrong(steps)).toEqual([]);
        expect(sumOf(steps, 'takenBackCents')).toBe(order.earnedCents - expiredCents);
      }),
      SEQUENCES,
    );
  });

  it('refundParts of several refunds are those of one refund of their sums', () => {
    fc.assert(
      fc.property(scenario, fc.nat({ max: 12 }), ({ order, amounts, eligibleOf }, upTo) => {
        const steps = refundInTurn(order, amounts, eligibleOf).slice(0, upTo + 1);
        const [whole] = refundInTurn(order, [sumOf(steps, 'amountCents')], () => sumOf(steps, 'eligibleCents'));
        expect(whole).toEqual({
          amountCents: sumOf(steps, 'amountCents'),
          eligibleCents: sumOf(steps, 'eligibleCents'),
          returnedCents: sumOf(steps, 'returnedCents'),
          takenBackCents: sumOf(steps, 'takenBackCents'),
        });
      }),
    );
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
  const untouched = { ...order, refundedCents: 0, refundedEligibleCents: 0, returnedCents: 0, takenBackCents: 0 };

  it.each([
    ['no refund', 0, 0, 5_000, 3_000, 5_000],
    ['no refund', 0, 0, 2_000, 0, 2_000],
    ['no refund', 0, 0, 10_000, 8_000, 8_000],
    ['a refund of the ineligible part', 2_000, 0, 1_000, 1_000, 1_000],
    ['a refund of the eligible part', 8_000, 8_000, 1_000, 0, 0],
  ])(
    'after %s (%i, of which %i are eligible), the eligible part of a refund of %i is from %i to %i',
    (_what, refundedCents, refundedEligibleCents, amountCents, minimumCents, maximumCents) => {
      const bounds = eligibleBounds({ ...untouched, refundedCents, refundedEligibleCents }, amountCents);
      expect(bounds).toEqual({ minimumCents, maximumCents });
    },
  );

  it('the eligible part of a refund is its amount when the whole order is eligible', () => {
    fc.assert(
      fc.property(scenario, ({ order: { totalCents, redeemedCents, earnedCents }, amounts }) => {
        const steps = refundInTurn(
          { totalCents, redeemedCents, earnedCents, eligibleTotalCents: null },
          amounts,
          (_nth, { minimumCents, maximumCents }) => (minimumCents === maximumCents ? undefined : -1),
        );
        expect(steps.filter(({ amountCents, eligibleCents }) => amountCents !== eligibleCents)).toEqual([]);
      }),
    );
  });
});
