import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { COMEBACK_MS, type HeldLot, isAvailable, type Lot, applyExpiries } from './expiry.js';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const day = (days: number): Date => new Date(START + days * DAY_MS);

const aLot = (members: Partial<Lot> = {}): Lot => ({
  id: 'a',
  remainingCents: 100,
  availableAt: day(0),
  expiresAt: day(10),
  ...members,
});
const aHold = (members: Partial<HeldLot> = {}): HeldLot => ({
  orderId: 'o',
  creditId: 'a',
  amountCents: 30,
  expiresAt: day(5),
  ...members,
});
const inShort = (movements: ReturnType<typeof applyExpiries>): unknown[] =>
  movements.map(({ kind, credit, amountCents, effectiveAt }) => [
    kind,
    credit.id,
    amountCents,
    (effectiveAt.getTime() - START) / DAY_MS,
  ]);

describe('settling', () => {
  it('changes nothing before a hold lapses or a credit expires', () => {
    const lot = aLot();
    expect(applyExpiries([lot], [aHold()], new Date(day(5).getTime() - 1))).toEqual([]);
    expect(lot).toEqual(aLot());
  });

  it('gives a hold back at the very instant it lapses', () => {
    const lot = aLot();
    expect(inShort(applyExpiries([lot], [aHold()], day(5)))).toEqual([['release', 'a', 30, 5]]);
    expect(lot.remainingCents).toBe(130);
  });

  it('writes off what is left at the very instant a credit expires', () => {
    const lot = aLot();
    expect(inShort(applyExpiries([lot], [], day(10)))).toEqual([['expire', 'a', -100, 10]]);
    expect(lot.remainingCents).toBe(0);
  });

  it('writes off nothing a second time', () => {
    const lot = aLot();
    applyExpiries([lot], [], day(10));
    expect(applyExpiries([lot], [], day(11))).toEqual([]);
  });

  it('lets what expired under a hold come back for a week, without what was not held', () => {
    const lot = aLot();
    expect(inShort(applyExpiries([lot], [aHold({ expiresAt: day(12) })], day(13)))).toEqual([
      ['expire', 'a', -100, 10],
      ['release', 'a', 30, 12],
    ]);
    expect(lot).toMatchObject({ remainingCents: 30, expiresAt: new Date(day(12).getTime() + COMEBACK_MS) });
  });

  it('writes what came back off after that week', () => {
    const lot = aLot();
    expect(inShort(applyExpiries([lot], [aHold({ expiresAt: day(12) })], day(19)))).toEqual([
      ['expire', 'a', -100, 10],
      ['release', 'a', 30, 12],
      ['expire', 'a', -30, 19],
    ]);
  });

  it('refuses to give back to a credit it was not told of', () => {
    expect(() => applyExpiries([], [aHold()], day(6))).toThrow('was not loaded');
  });

  it('makes no difference by when, or how often, it is done', () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const instant = fc.integer({ min: 0, max: 40 }).map(day);
    const amount = fc.integer({ min: 1, max: 500 });
    const lots = fc
      .tuple(amount, instant, amount, instant, amount, instant)
      .map(([a, aEnds, b, bEnds, c, cEnds]) => [
        aLot({ id: 'a', remainingCents: a, expiresAt: aEnds }),
        aLot({ id: 'b', remainingCents: b, expiresAt: bEnds }),
        aLot({ id: 'c', remainingCents: c, expiresAt: cEnds }),
      ]);
    const holds = fc.uniqueArray(
      fc.record({ orderId: fc.constantFrom('o1', 'o2', 'o3'), creditId: id, amountCents: amount, expiresAt: instant }),
      {
        maxLength: 9,
        selector: ({ orderId, creditId }) => `${orderId}/${creditId}`,
      },
    );
    const stops = fc
      .array(fc.integer({ min: 0, max: 60 }), { maxLength: 6 })
      .map((days) => days.sort((x, y) => x - y).map(day));

    fc.assert(
      fc.property(lots, holds, stops, (given, held, instants) => {
        const end = day(60);
        const [once, often] = [structuredClone(given), structuredClone(given)];
        const atOnce = inShort(applyExpiries(once, held, end));
        let open = held;
        const inSteps = [...instants, end].flatMap((now) => {
          const movements = inShort(applyExpiries(often, open, now));
          open = open.filter((hold) => hold.expiresAt > now);
          return movements;
        });
        expect(often).toEqual(once);
        expect(byCredit(inSteps)).toEqual(byCredit(atOnce));
      }),
      { numRuns: 500 },
    );
  });
});

/** Credits are independent of each other, so only the order of each one's own movements counts. */
function byCredit(movements: unknown[]): unknown[] {
  return ['a', 'b', 'c'].map((id) => (movements as [string, string][]).filter(([, creditId]) => creditId === id));
}

describe('a credit', () => {
  it('is available from its release on, until just before its expiry', () => {
    const lot = aLot({ availableAt: day(8) });
    expect(isAvailable(lot, new Date(day(8).getTime() - 1))).toBe(false);
    expect(isAvailable(lot, day(8))).toBe(true);
    expect(isAvailable(lot, new Date(day(10).getTime() - 1))).toBe(true);
    expect(isAvailable(lot, day(10))).toBe(false);
  });
});
