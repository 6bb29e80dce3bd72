import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EXAMPLE_RATES, QUOTE_EXAMPLES } from '../../test/support/quote-examples.js';
import { DEFAULT_POLICY, type Policy } from '../merchants/policy.js';
import { MAX_CENTS, parseMoney } from '../platform/values/money.js';
import { cashbackToReceive, type OrderTotals, type PaidOrder, rateOf } from './earned.js';
import { earnAmountProblem, redeemableMaximum, shareOf } from './quote.js';

const aPolicy = (members: Partial<Policy> = {}): Policy => ({
  ...DEFAULT_POLICY,
  earnRatesByPaymentMethod: EXAMPLE_RATES,
  ...members,
});
/** An order whose whole total is eligible. */
const whole = (totalCents: number): OrderTotals => ({ totalCents, eligibleTotalCents: null });
/** What an order earns by the rates, or by what it asks to earn. */
const earnedOf = (order: Omit<PaidOrder, 'earnAmountCents'> & Partial<PaidOrder>, policy: Policy): number =>
  cashbackToReceive({ earnAmountCents: null, ...order }, policy).earnedCents;
const cents = fc.integer({ min: 1, max: MAX_CENTS });
const bps = fc.integer({ min: 0, max: 10_000 });

/** What a customer can spend who holds nothing. */
const having = (availableCents: number) => ({ availableCents, heldCents: 0, isFrozen: false });

describe('worked examples', () => {
  it.each(QUOTE_EXAMPLES)(
    'a total of $T (eligible: $E) paid by $methods, with $R redeemed and a balance of $B, gives a maximum of $maximum ($limitedBy) and earns $receive',
    (row) => {
      const policy = aPolicy(row.policy);
      const totals = {
        totalCents: parseMoney(row.T),
        eligibleTotalCents: row.E === undefined ? null : parseMoney(row.E),
      };
      const paymentMethods = row.methods.map(({ id, amount }) => ({ id, amountCents: parseMoney(amount) }));
      expect(redeemableMaximum(totals, having(parseMoney(row.B)), policy)).toEqual({
        maximumCents: parseMoney(row.maximum),
        limitedBy: row.limitedBy,
      });
      expect(earnedOf({ ...totals, paymentMethods, redeemedCents: parseMoney(row.R) }, policy)).toBe(
        parseMoney(row.receive),
      );
    },
  );
});

describe('redeemableMaximum', () => {
  it.each([
    ['the balance is exactly the share', 10_000, 5_000, 5_000, 'balance'],
    ['the balance is one centavo above the share', 10_000, 5_001, 5_000, 'order_share'],
    ['the wallet is empty', 10_000, 0, 0, 'balance'],
  ])('redeemableMaximum is correct when %s', (_, totalCents, balanceCents, maximumCents, limitedBy) => {
    expect(redeemableMaximum(whole(totalCents), having(balanceCents), aPolicy())).toEqual({ maximumCents, limitedBy });
  });

  it('redeemableMaximum has no limit other than the total when share and balance reach the total', () => {
    expect(redeemableMaximum(whole(100), having(100), aPolicy({ redeemShareBps: 10_000 }))).toEqual({
      maximumCents: 100,
      limitedBy: null,
    });
  });

  it('redeemableMaximum is limited by the share when the share is zero', () => {
    expect(redeemableMaximum(whole(100), having(50), aPolicy({ redeemShareBps: 0 }))).toEqual({
      maximumCents: 0,
      limitedBy: 'order_share',
    });
  });

  it('redeemableMaximum is zero below the minimum total but not at it', () => {
    const policy = aPolicy({ redeemMinimumTotalCents: 5_000 });
    expect(redeemableMaximum(whole(4_999), having(100), policy)).toEqual({
      maximumCents: 0,
      limitedBy: 'minimum_total',
    });
    expect(redeemableMaximum(whole(5_000), having(100), policy)).toEqual({ maximumCents: 100, limitedBy: 'balance' });
  });

  it('redeemableMaximum is zero where it would be less than the least that can be redeemed at once', () => {
    const policy = aPolicy({ redeemMinimumCents: 500 });
    const limited = { maximumCents: 0, limitedBy: 'redeem_minimum' };
    expect(redeemableMaximum(whole(10_000), having(499), policy)).toEqual(limited);
    expect(redeemableMaximum(whole(10_000), having(500), policy)).toEqual({ maximumCents: 500, limitedBy: 'balance' });
    expect(redeemableMaximum(whole(999), having(10_000), policy)).toEqual(limited);
    expect(redeemableMaximum(whole(1000), having(10_000), policy)).toEqual({
      maximumCents: 500,
      limitedBy: 'order_share',
    });
  });

  it('redeemableMaximum of a frozen wallet is what the order holds, unless its total or its share allow less', () => {
    const frozen = (heldCents: number) => ({ availableCents: 10_000, heldCents, isFrozen: true });
    const policy = aPolicy({ redeemMinimumTotalCents: 1000, redeemMinimumCents: 500 });
    expect(redeemableMaximum(whole(10_000), frozen(0), policy)).toEqual({ maximumCents: 0, limitedBy: 'frozen' });
    expect(redeemableMaximum(whole(10_000), frozen(5000), policy)).toEqual({ maximumCents: 5000, limitedBy: 'frozen' });
    expect(redeemableMaximum(whole(9999), frozen(5000), policy)).toEqual({
      ...{ maximumCents: 4999, limitedBy: 'order_share' },
    });
    expect(redeemableMaximum(whole(999), frozen(500), policy)).toEqual({ maximumCents: 0, limitedBy: 'minimum_total' });
  });

  it('redeemableMaximum never exceeds the balance, the total, or the share', () => {
    fc.assert(
      fc.property(
        cents,
        fc.nat({ max: MAX_CENTS }),
        bps,
        fc.nat({ max: MAX_CENTS }),
        (totalCents, balanceCents, redeemShareBps, redeemMinimumTotalCents) => {
          const { maximumCents, limitedBy } = redeemableMaximum(
            whole(totalCents),
            having(balanceCents),
            aPolicy({ redeemShareBps, redeemMinimumTotalCents }),
          );
          expect(maximumCents).toBeGreaterThanOrEqual(0);
          expect(maximumCents).toBeLessThanOrEqual(Math.min(balanceCents, totalCents));
          expect(BigInt(maximumCents) * 10_000n <= BigInt(totalCents) * BigInt(redeemShareBps)).toBe(true);
          expect(limitedBy === null).toBe(maximumCents === totalCents);
        },
      ),
    );
  });
});

describe('cashbackToReceive', () => {
  const order = fc
    .record({
      totalCents: cents,
      shares: fc.array(
        fc.tuple(fc.constantFrom('card', 'pix', 'boleto', 'other'), fc.double({ min: 0, max: 0.2, noNaN: true })),
        { maxLength: 5 },
      ),
      redeemed: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    .map(({ totalCents, shares, redeemed }) => ({
      ...whole(totalCents),
      paymentMethods: shares.map(([id, share]) => ({ id, amountCents: Math.floor(totalCents * share) })),
      redeemedCents: Math.floor(totalCents * redeemed),
    }));

  it('cashbackToReceive with a single rate equals that rate of the paid amount, rounded down once', () => {
    fc.assert(
      fc.property(order, bps, (given, earnRateBps) => {
        const received = earnedOf(given, aPolicy({ earnRateBps, earnRatesByPaymentMethod: {} }));
        expect(received).toBe(Number((BigInt(given.totalCents - given.redeemedCents) * BigInt(earnRateBps)) / 10_000n));
      }),
    );
  });

  it('cashbackToReceive is between the results of the lowest and the highest rate', () => {
    fc.assert(
      fc.property(order, (given) => {
        const at = (rate: number): number =>
          Number((BigInt(given.totalCents - given.redeemedCents) * BigInt(rate)) / 10_000n);
        const received = earnedOf(given, aPolicy());
        expect(received).toBeGreaterThanOrEqual(at(0));
        expect(received).toBeLessThanOrEqual(at(700));
      }),
    );
  });

  it('cashbackToReceive never grows when more is redeemed and is zero when everything is redeemed', () => {
    fc.assert(
      fc.property(order, (given) => {
        const { totalCents, redeemedCents } = given;
        const more = { ...given, redeemedCents: Math.min(totalCents, redeemedCents + 1) };
        expect(earnedOf(more, aPolicy())).toBeLessThanOrEqual(earnedOf(given, aPolicy()));
        expect(earnedOf({ ...given, redeemedCents: totalCents }, aPolicy())).toBe(0);
      }),
    );
  });

  it('cashbackToReceive does not depend on how payment methods are split or ordered', () => {
    const whole = [
      { id: 'pix', amountCents: 999 },
      { id: 'card', amountCents: 1 },
    ];
    const cut = [
      { id: 'card', amountCents: 1 },
      { id: 'pix', amountCents: 500 },
      { id: 'pix', amountCents: 499 },
    ];
    const of = (paymentMethods: typeof whole): number =>
      earnedOf({ totalCents: 1001, eligibleTotalCents: null, paymentMethods, redeemedCents: 0 }, aPolicy());
    expect(of(cut)).toBe(of(whole));
  });

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'cashbackToReceive uses the default rate for a payment method named %s',
    (id) => {
      expect(
        earnedOf({ ...whole(10_000), paymentMethods: [{ id, amountCents: 10_000 }], redeemedCents: 0 }, aPolicy()),
      ).toBe(500);
    },
  );
});

describe('what limits the cashback to receive', () => {
  const of = (order: Partial<PaidOrder>, policy: Partial<Policy>) =>
    cashbackToReceive(
      { ...whole(100_000), paymentMethods: [], redeemedCents: 0, earnAmountCents: null, ...order },
      aPolicy(policy),
    );

  it('an order below the minimum total earns nothing, and one of exactly that total does', () => {
    const policy = { earnMinimumTotalCents: 100_001 };
    expect(of({}, policy)).toEqual({ earnedCents: 0, limitedBy: 'minimum_total' });
    expect(of({ earnAmountCents: 10_000 }, policy)).toEqual({ earnedCents: 0, limitedBy: 'minimum_total' });
    expect(of({}, { earnMinimumTotalCents: 100_000 })).toEqual({ earnedCents: 5_000, limitedBy: null });
  });

  it('an order earns at most the maximum, which limits only what would be more', () => {
    expect(of({}, { earnMaximumCents: 4_999 })).toEqual({ earnedCents: 4_999, limitedBy: 'maximum' });
    expect(of({}, { earnMaximumCents: 5_000 })).toEqual({ earnedCents: 5_000, limitedBy: null });
    expect(of({}, { earnMaximumCents: 0 })).toEqual({ earnedCents: 0, limitedBy: 'maximum' });
  });

  it('what an order asks to earn is reduced by what is redeemed, and then the maximum applies', () => {
    const asked = { earnAmountCents: 10_000, redeemedCents: 50_000 };
    expect(of(asked, { earnMaximumCents: 5_000 })).toEqual({ earnedCents: 5_000, limitedBy: null });
    expect(of(asked, { earnMaximumCents: 4_000 })).toEqual({ earnedCents: 4_000, limitedBy: 'maximum' });
    expect(of({ ...asked, earnAmountCents: 9_999 }, {}).earnedCents).toBe(4_999);
    expect(of({ ...asked, redeemedCents: 100_000 }, {}).earnedCents).toBe(0);
    expect(of({ earnAmountCents: 0, eligibleTotalCents: 0 }, {}).earnedCents).toBe(0);
  });

  it('an order asks to earn at most the share of its eligible total, and nothing if there is no share', () => {
    const problemOf = (earnAmountCents: number | null, eligibleTotalCents: number | null, bps: number | null) =>
      earnAmountProblem(
        { totalCents: 100_000, eligibleTotalCents, earnAmountCents },
        aPolicy({ earnRateMaximumBps: bps }),
      );
    expect(problemOf(10_000, null, 1_000)).toBeUndefined();
    expect(problemOf(10_001, null, 1_000)?.toBody('', '')).toMatchObject({ maximum: '100.00' });
    expect(problemOf(5_001, 50_000, 1_000)?.toBody('', '')).toMatchObject({ maximum: '50.00' });
    expect(problemOf(1, 0, 10_000)?.code).toBe('earn_amount_exceeds_maximum');
    expect(problemOf(1, null, null)?.message).toContain('no earn_rate_maximum');
    for (const earned of [null, 0]) expect(problemOf(earned, 0, null)).toBeUndefined();
  });

  it('shareOf is exact where the product exceeds 2^53', () => {
    expect(shareOf(MAX_CENTS, 9_999)).toBe(99_989_999_999);
  });
});

describe('rateOf', () => {
  it.each([
    ['pix', 700],
    ['PIX', 700],
    ['Pix', 700],
    ['pıx', 500],
    ['card', 500],
    ['', 500],
  ])('the rate of the payment method %j is %i basis points', (id, bps) => {
    expect(rateOf(id, aPolicy())).toBe(bps);
  });

  it('rateOf prefers the rate with exactly this ID', () => {
    const policy = aPolicy({ earnRatesByPaymentMethod: { PIX: 100, pix: 200 } });
    expect([rateOf('pix', policy), rateOf('PIX', policy)]).toEqual([200, 100]);
  });
});
