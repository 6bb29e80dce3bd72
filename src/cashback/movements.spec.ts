import { describe, expect, it } from '@jest/globals';
import type { Credit } from './credit.entity.js';
import { giveBack, isAvailable, type Movement, repay, writeOff } from './movements.js';

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const day = (days: number): Date => new Date(START + days * DAY_MS);

const aCredit = (members: Partial<Credit> = {}): Credit => ({
  id: 'a',
  walletId: 'w',
  merchantId: 'm',
  orderId: null,
  reason: null,
  amountCents: 100,
  remainingCents: 100,
  availableAt: day(0),
  expiresAt: day(10),
  originalExpiresAt: null,
  createdAt: day(0),
  ...members,
});
const inShort = (movements: Movement[]): unknown[] =>
  movements.map(({ kind, credit, amountCents, effectiveAt }) => [
    kind,
    credit?.id,
    amountCents,
    (effectiveAt.getTime() - START) / DAY_MS,
  ]);
const release = (credit: Credit, amountCents: number, days: number): unknown[] =>
  inShort(
    giveBack(credit, { kind: 'release', amountCents, orderId: 'o', at: day(days), reinstatedUntil: day(days + 8) }),
  );

describe('giveBack', () => {
  it('giveBack adds the amount to a credit that has not expired', () => {
    const credit = aCredit();
    expect(release(credit, 30, 5)).toEqual([['release', 'a', 30, 5]]);
    expect(credit).toMatchObject({ remainingCents: 130, expiresAt: day(10), originalExpiresAt: null });
  });

  it('giveBack makes the amount available for some days if the credit has expired, without what remained then', () => {
    const credit = aCredit();
    expect(release(credit, 30, 12)).toEqual([
      ['expire', 'a', -100, 10],
      ['release', 'a', 30, 12],
    ]);
    expect(credit).toMatchObject({ remainingCents: 30, expiresAt: day(20), originalExpiresAt: day(10) });
  });

  it('giveBack adds the amount to a reinstated credit until that expires, and then writes it off at once', () => {
    const credit = aCredit({ remainingCents: 0 });
    release(credit, 30, 12);
    expect(release(credit, 5, 19)).toEqual([['release', 'a', 5, 19]]);
    expect(release(credit, 7, 20)).toEqual([
      ['expire', 'a', -35, 20],
      ['release', 'a', 7, 20],
      ['expire', 'a', -7, 20],
    ]);
    expect(credit).toMatchObject({ remainingCents: 0, expiresAt: day(20), originalExpiresAt: day(10) });
  });
});

describe('writeOff', () => {
  it('writeOff takes what remains of a credit, once, at the date on which it expired', () => {
    const credit = aCredit();
    expect(inShort(writeOff(credit))).toEqual([['expire', 'a', -100, 10]]);
    expect(writeOff(credit)).toEqual([]);
  });
});

describe('repay', () => {
  it('repay takes the debt from the amounts that were returned, the earliest to expire first', () => {
    const [late, early] = [aCredit({ expiresAt: day(11) }), aCredit({ id: 'b' })];
    const parts = [
      { credit: late, amountCents: 100 },
      { credit: early, amountCents: 30 },
    ];
    expect(inShort(repay(parts, 50, { orderId: 'o', at: day(1) }))).toEqual([
      ['clawback', 'b', -30, 1],
      ['repay', undefined, -30, 1],
      ['clawback', 'a', -20, 1],
      ['repay', undefined, -20, 1],
    ]);
    expect([late.remainingCents, early.remainingCents]).toEqual([80, 70]);
  });

  it('repay takes nothing from an amount that expired when it was returned', () => {
    const credit = aCredit({ remainingCents: 0 });
    expect(repay([{ credit, amountCents: 30 }], 100, { orderId: 'o', at: day(12) })).toEqual([]);
  });
});

describe('isAvailable', () => {
  it('isAvailable is true from the first instant until just before the expiry', () => {
    const credit = aCredit({ availableAt: day(1) });
    const before = (days: number): Date => new Date(day(days).getTime() - 1);
    expect([before(1), day(1), before(10), day(10)].map((now) => isAvailable(credit, now))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});
