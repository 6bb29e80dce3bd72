import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_CENTS, parseMoney } from '../common/money.js';
import { EXAMPLE_RATES, QUOTE_EXAMPLES } from '../../test/support/quote-examples.js';
import { DEFAULT_POLICY, type Policy } from '../merchants/policy.js';
import { cashbackToReceive, type OrderTotals, rateOf, redeemableMaximum } from './quote.js';

const aPolicy = (members: Partial<Policy> = {}): Policy => ({
  ...DEFAULT_POLICY,
  earnRatesByPaymentMethod: EXAMPLE_RATES,
  ...members,
});
/** An order whose whole total is eligible. */
const whole = (totalCents: number): OrderTotals => ({ totalCents, eligibleTotalCents: null });
const cents = fc.integer({ min: 1, max: MAX_CENTS });
const bps = fc.integer({ min: 0, max: 10_000 });

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
      expect(redeemableMaximum(totals, parseMoney(row.B), policy)).toEqual({
        maximumCents: parseMoney(row.maximum),
        limitedBy: row.limitedBy,
      });
      expect(cashbackToReceive({ ...totals, paymentMethods, redeemedCents: parseMoney(row.R) }, policy)).toBe(
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
    expect(redeemableMaximum(whole(totalCents), balanceCents, aPolicy())).toEqual({ maximumCents, limitedBy });
  });

  it('redeemableMaximum has no limit other than the total when share and balance reach the total', () => {
    expect(redeemableMaximum(whole(100), 100, aPolicy({ redeemShareBps: 10_000 }))).toEqual({
      maximumCents: 100,
      limitedBy: null,
    });
  });

  it('redeemableMaximum is limited by the share when the share is zero', () => {
    expect(redeemableMaximum(whole(100), 50, aPolicy({ redeemShareBps: 0 }))).toEqual({
      maximumCents: 0,
      limitedBy: 'order_share',
    });
  });

  it('redeemableMaximum is zero below the minimum total but not at it', () => {
    const policy = aPolicy({ redeemMinimumTotalCents: 5_000 });
    expect(redeemableMaximum(whole(4_999), 100, policy)).toEqual({ maximumCents: 0, limitedBy: 'minimum_total' });
    expect(redeemableMaximum(whole(5_000), 100, policy)).toEqual({ maximumCents: 100, limitedBy: 'balance' });
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
            balanceCents,
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
        const received = cashbackToReceive(given, aPolicy({ earnRateBps, earnRatesByPaymentMethod: {} }));
        expect(received).toBe(Number((BigInt(given.totalCents - given.redeemedCents) * BigInt(earnRateBps)) / 10_000n));
      }),
    );
  });

  it('cashbackToReceive is between the results of the lowest and the highest rate', () => {
    fc.assert(
      fc.property(order, (given) => {
        const at = (rate: number): number =>
          Number((BigInt(given.totalCents - given.redeemedCents) * BigInt(rate)) / 10_000n);
        const received = cashbackToReceive(given, aPolicy());
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
        expect(cashbackToReceive(more, aPolicy())).toBeLessThanOrEqual(cashbackToReceive(given, aPolicy()));
        expect(cashbackToReceive({ ...given, redeemedCents: totalCents }, aPolicy())).toBe(0);
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
      cashbackToReceive({ totalCents: 1001, eligibleTotalCents: null, paymentMethods, redeemedCents: 0 }, aPolicy());
    expect(of(cut)).toBe(of(whole));
  });

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
    'cashbackToReceive uses the default rate for a payment method named %s',
    (id) => {
      expect(
        cashbackToReceive(
          { ...whole(10_000), paymentMethods: [{ id, amountCents: 10_000 }], redeemedCents: 0 },
          aPolicy(),
        ),
      ).toBe(500);
    },
  );
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
