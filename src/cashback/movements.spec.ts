import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applyExpiries, type DatedCredit, type DatedHold, isAvailable } from './movements.js';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const day = (days: number): Date => new Date(START + days * DAY_MS);

const aCredit = (members: Partial<DatedCredit> = {}): DatedCredit => ({
  id: 'a',
  remainingCents: 100,
  availableAt: day(0),
  expiresAt: day(10),
  originalExpiresAt: null,
  ...members,
});
const aHold = (members: Partial<DatedHold> = {}): DatedHold => ({
  orderId: 'o',
  creditId: 'a',
  amountCents: 30,
  expiresAt: day(5),
  reinstatedUntil: day(13),
  ...members,
});
const inShort = (movements: ReturnType<typeof applyExpiries>): unknown[] =>
  movements.map(({ kind, credit, amountCents, effectiveAt }) => [
    kind,
    credit?.id,
    amountCents,
    (effectiveAt.getTime() - START) / DAY_MS,
  ]);

describe('applyExpiries', () => {
  it('applyExpiries changes nothing before a hold lapses or a credit expires', () => {
    const credit = aCredit();
    expect(applyExpiries([credit], [aHold()], new Date(day(5).getTime() - 1))).toEqual([]);
    expect(credit).toEqual(aCredit());
  });

  it('applyExpiries releases a hold when it lapses', () => {
    const credit = aCredit();
    expect(inShort(applyExpiries([credit], [aHold()], day(5)))).toEqual([['release', 'a', 30, 5]]);
    expect(credit.remainingCents).toBe(130);
  });

  it('applyExpiries writes off the remaining amount when a credit expires', () => {
    const credit = aCredit();
    expect(inShort(applyExpiries([credit], [], day(10)))).toEqual([['expire', 'a', -100, 10]]);
    expect(credit.remainingCents).toBe(0);
  });

  it('applyExpiries does not write off a credit twice', () => {
    const credit = aCredit();
    applyExpiries([credit], [], day(10));
    expect(applyExpiries([credit], [], day(11))).toEqual([]);
  });

  it('applyExpiries makes the held part of an expired credit available until the date of the hold', () => {
    const credit = aCredit();
    const hold = aHold({ expiresAt: day(12), reinstatedUntil: day(19.5) });
    expect(inShort(applyExpiries([credit], [hold], day(13)))).toEqual([
      ['expire', 'a', -100, 10],
      ['release', 'a', 30, 12],
    ]);
    expect(credit).toMatchObject({ remainingCents: 30, expiresAt: day(19.5), originalExpiresAt: day(10) });
  });

  it('applyExpiries writes off at once what a hold returns to a credit that has expired a second time', () => {
    const credit = aCredit();
    const holds = [
      aHold({ expiresAt: day(12), reinstatedUntil: day(20) }),
      aHold({ orderId: 'within', expiresAt: day(19), reinstatedUntil: day(27), amountCents: 5 }),
      aHold({ orderId: 'after', expiresAt: day(20), reinstatedUntil: day(28), amountCents: 7 }),
    ];
    expect(inShort(applyExpiries([credit], holds, day(30)))).toEqual([
      ['expire', 'a', -100, 10],
      ['release', 'a', 30, 12],
      ['release', 'a', 5, 19],
      ['expire', 'a', -35, 20],
      ['release', 'a', 7, 20],
      ['expire', 'a', -7, 20],
    ]);
    expect(credit).toMatchObject({ remainingCents: 0, expiresAt: day(20), originalExpiresAt: day(10) });
  });

  it('applyExpiries repays no debt with an amount that expires when it is released', () => {
    const credit = aCredit({ remainingCents: 0, originalExpiresAt: day(2) });
    expect(inShort(applyExpiries([credit], [aHold({ expiresAt: day(12) })], day(12), 100))).toEqual([
      ['release', 'a', 30, 12],
      ['expire', 'a', -30, 10],
    ]);
  });

  it('applyExpiries throws if the credit of a lapsed hold was not loaded', () => {
    expect(() => applyExpiries([], [aHold()], day(6))).toThrow('was not loaded');
  });

  it('applyExpiries gives the same result whenever and however often it runs', () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const instant = fc.integer({ min: 0, max: 40 }).map(day);
    const amount = fc.integer({ min: 1, max: 500 });
    const credits = fc
      .tuple(amount, instant, amount, instant, amount, instant)
      .map(([a, aEnds, b, bEnds, c, cEnds]) => [
        aCredit({ id: 'a', remainingCents: a, expiresAt: aEnds }),
        aCredit({ id: 'b', remainingCents: b, expiresAt: bEnds }),
        aCredit({ id: 'c', remainingCents: c, expiresAt: cEnds }),
      ]);
    const holds = fc.uniqueArray(
      fc
        .record({ orderId: fc.constantFrom('o1', 'o2', 'o3'), creditId: id, amountCents: amount, expiresAt: instant })
        .map((hold) => ({ ...hold, reinstatedUntil: new Date(hold.expiresAt.getTime() + 8 * DAY_MS) })),
      {
        maxLength: 9,
        selector: ({ orderId, creditId }) => `${orderId}/${creditId}`,
      },
    );
    const stops = fc
      .array(fc.integer({ min: 0, max: 60 }), { maxLength: 6 })
      .map((days) => days.sort((x, y) => x - y).map(day));

    fc.assert(
      fc.property(credits, holds, stops, (given, held, instants) => {
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

/** Groups movements by credit, because only the order of the movements of one credit matters. */
function byCredit(movements: unknown[]): unknown[] {
  return ['a', 'b', 'c'].map((id) => (movements as [string, string][]).filter(([, creditId]) => creditId === id));
}

describe('the availability of a credit', () => {
  it('a credit is available from its release until just before its expiry', () => {
    const credit = aCredit({ availableAt: day(8) });
    expect(isAvailable(credit, new Date(day(8).getTime() - 1))).toBe(false);
    expect(isAvailable(credit, day(8))).toBe(true);
    expect(isAvailable(credit, new Date(day(10).getTime() - 1))).toBe(true);
    expect(isAvailable(credit, day(10))).toBe(false);
  });
});
