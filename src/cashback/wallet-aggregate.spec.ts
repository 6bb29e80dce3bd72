import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { WalletInMemory } from '../../test/support/wallet-in-memory.js';
import { newId } from '../platform/values/ids.js';
import { sumCents } from '../platform/values/money.js';
import type { Credit } from './credit.entity.js';
import { ENTRY_KINDS } from './entry.entity.js';
import { byExpiry, freeCents } from './parts.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TIME_ZONE = 'America/Sao_Paulo';

let rows: WalletInMemory;
beforeEach(() => {
  rows = new WalletInMemory();
});

const BY = { by: 'the user', store: 'SP-014' };
const causeOf = (orderId: string) => ({ ...BY, orderId });
const inDays = (days: number): Date => new Date(+rows.now + days * DAY_MS);
const wait = (days: number): void => void (rows.now = inDays(days));
const grant = (amountCents: number, from: number, to: number): Credit =>
  rows.change((wallet) => wallet.grant(BY, amountCents, { availableAt: inDays(from), expiresAt: inDays(to) }, null));
const hold = (orderId: string, cents: number, endsAt?: Date): void =>
  rows.change((wallet) => wallet.hold(causeOf(orderId), cents, endsAt));
const earn = (orderId: string, cents: number, days = 30): Credit =>
  rows.change((wallet) => wallet.earn(causeOf(orderId), cents, { availableAt: rows.now, expiresAt: inDays(days) }));
function redeem(orderId: string, cents: number): void {
  rows.change((wallet) => {
    wallet.hold(causeOf(orderId), cents);
    wallet.redeem(causeOf(orderId));
  });
}
function refund(orderId: string, returnedCents: number, takenBackCents: number, returnedBeforeCents = 0): string {
  const refundId = newId(rows.now);
  const moved = { returnedBeforeCents, returnedCents, takenBackCents };
  rows.change((wallet) => wallet.refund({ ...causeOf(orderId), refundId }, { ...moved, timeZone: TIME_ZONE }), orderId);
  return refundId;
}
/** What remains of each credit, and what is held of it, in the order of their creation. */
const left = (): [number, number][] => rows.credits.map(({ remainingCents, heldCents }) => [remainingCents, heldCents]);
const claimed = (): number[] => rows.credits.map(({ claimedCents }) => claimedCents);

describe('holds of a wallet', () => {
  it('a hold writes no entry, and takes what expires first, the oldest first of what expires together', () => {
    for (const days of [9, 5, 5]) grant(1000, 0, days);
    hold('a', 1500);
    expect(left()).toEqual([
      [1000, 0],
      [1000, 1000],
      [1000, 500],
    ]);
    expect(rows.movements).toEqual(Array(3).fill('grant 10.00'));
    expect(rows.sums).toMatchObject({ balanceCents: 3000, availableCents: 1500, heldCents: 1500 });
  });

  it('the same hold changes nothing, and a hold above what is available is an error that changes nothing', () => {
    grant(1000, 0, 5);
    hold('a', 600);
    rows.change((wallet) => {
      wallet.hold(causeOf('a'), 600);
      expect(wallet.isChanged).toBe(false);
    });
    expect(() => hold('a', 1001)).toThrow('would hold more than is available');
    expect(() => hold('b', 401)).toThrow('would hold more than is available');
    expect(left()).toEqual([[1000, 600]]);
  });

  it('a hold takes nothing of what is pending', () => {
    grant(1000, 1, 5);
    expect(() => hold('a', 1)).toThrow('would hold more than is available');
    wait(1);
    hold('a', 1000);
    expect(left()).toEqual([[1000, 1000]]);
  });

  it('what an order holds of an expired credit is its own, and what it releases of it expires at once', () => {
    grant(2000, 0, 1);
    grant(1000, 0, 9);
    hold('a', 3000);
    wait(2);
    hold('a', 1500);
    expect(left()).toEqual([
      [1500, 1500],
      [1000, 0],
    ]);
    expect(rows.movements.slice(2)).toEqual(['expire -5.00']);
    hold('a', 2500);
    hold('a', 0);
    expect(left()).toEqual([
      [0, 0],
      [1000, 0],
    ]);
    expect(rows.movements.slice(2)).toEqual(['expire -5.00', 'expire -15.00']);
    expect(rows.holds).toEqual([]);
  });

  it('a release repays debt from the earliest expiry first, and not from what expired before the hold ended', () => {
    earn('first', 1000);
    redeem('spent', 1000);
    for (const days of [1, 3, 5]) grant(300, 0, days);
    hold('a', 900);
    refund('first', 0, 1000);
    expect(rows.sums.debtCents).toBe(1000);
    wait(4);
    hold('a', 0, inDays(-2));
    expect(rows.movements.slice(-5)).toEqual([
      ...['take_back -3.00', 'repay -3.00', 'take_back -3.00', 'repay -3.00', 'expire -3.00'],
    ]);
    expect(rows.sums).toMatchObject({ debtCents: 400, balanceCents: 0, availableCents: 0, heldCents: 0 });
  });

  it('a redemption has one entry per credit and ends the hold', () => {
    for (const days of [9, 5]) grant(1000, 0, days);
    redeem('a', 1500);
    expect(rows.movements.slice(2)).toEqual(['redeem -10.00', 'redeem -5.00']);
    expect(rows.holds).toEqual([]);
    rows.change((wallet) => {
      wallet.redeem(causeOf('a'));
      expect(wallet.isChanged).toBe(false);
    });
  });
});

describe('refunds of a wallet', () => {
  it('a refund returns to the latest expiry first, and to a new credit what could be spent for less than seven days', () => {
    const [a, b] = [grant(3000, 0, 3), grant(5000, 0, 90)];
    redeem('order', 4000);
    wait(10);
    const first = refund('order', 2000, 0);
    wait(30);
    const second = refund('order', 2000, 0, 2000);
    expect(rows.movements.slice(4)).toEqual(['return 10.00', 'return 10.00', 'expire -10.00', 'return 20.00']);
    const origin = { orderId: null, fromCreditId: a.id };
    expect(rows.credits.slice(2)).toMatchObject([
      { ...origin, refundId: first, amountCents: 1000, remainingCents: 0 },
      { ...origin, refundId: second, amountCents: 2000, remainingCents: 2000, availableAt: rows.now },
    ]);
    expect(rows.credits[1]).toMatchObject({ id: b.id, remainingCents: 5000 });
    // 12:00 UTC is in the morning in São Paulo, and the 7th day after it ends at 03:00 UTC.
    expect(rows.credits[3]!.expiresAt).toEqual(new Date(+inDays(8) - 9 * HOUR_MS));
  });

  it('what returns of a returned amount comes from the credit that was earned or granted', () => {
    const { id } = grant(1000, 0, 1);
    for (const order of ['a', 'b', 'c']) {
      redeem(order, 1000);
      wait(5);
      refund(order, 1000, 0);
    }
    expect(rows.credits.map(({ fromCreditId }) => fromCreditId)).toEqual([null, id, id, id]);
    expect(rows.sums.availableCents).toBe(1000);
  });

  it('a refund takes back from the own credit, claims what is held of it, then by expiry, also what is pending', () => {
    earn('order', 1000, 60);
    grant(500, 0, 20);
    grant(500, 5, 10);
    hold('other', 800);
    refund('order', 0, 2000);
    expect(left()).toEqual([
      [300, 300],
      [500, 500],
      [0, 0],
    ]);
    expect(rows.movements.slice(3)).toEqual(['take_back -7.00', 'take_back -5.00', 'debt 5.00']);
    expect(claimed()).toEqual([300, 0, 0]);
  });

  it('more than an order redeemed cannot return', () => {
    grant(1000, 0, 20);
    redeem('order', 1000);
    expect(() => refund('order', 1, 0, 1000)).toThrow('returns more cashback than it redeemed');
  });

  it('only expiries of the own credit count as expired unspent, also those of the same transaction', () => {
    earn('order', 1000, 1);
    grant(700, 0, 1);
    wait(2);
    const expired = (): number => rows.change((wallet) => wallet.goneUnspent('order'), 'order');
    expect([expired(), expired()]).toEqual([1000, 1000]);
  });
});

describe('claims on what other orders hold of a refunded order', () => {
  /** An order earned 100.00, of which another one holds 60.00, and is refunded. */
  function claim(dueCents = 10_000): string {
    earn('order', 10_000, 1);
    hold('other', 6000);
    return refund('order', 0, dueCents);
  }

  it.each([0, 2])('what is released after %s days is taken back, and does not expire', (days) => {
    const refundId = claim();
    expect(rows.movements).toEqual(['earn 100.00', 'take_back -40.00']);
    expect(claimed()).toEqual([6000]);
    expect(rows.sums).toMatchObject({ debtCents: 0, availableCents: 0, heldCents: 6000, balanceCents: 6000 });
    wait(days);
    hold('other', 2500);
    expect(claimed()).toEqual([2500]);
    rows.change((wallet) => wallet.hold({ orderId: 'other', by: 'another user', store: 'RJ-003' }, 0));
    expect(rows.movements.slice(2)).toEqual(['take_back -35.00', 'take_back -25.00']);
    const { by: madeBy, store } = BY;
    expect(rows.entries.slice(1)).toMatchObject(Array(3).fill({ orderId: 'order', refundId, madeBy, store }));
    expect(rows.sums).toMatchObject({ debtCents: 0, balanceCents: 0, heldCents: 0 });
    expect([claimed(), rows.claims]).toEqual([[0], []]);
  });

  it('what is redeemed is taken back from other credits by expiry, and the rest becomes debt', () => {
    const refundId = claim();
    grant(1000, 0, 9);
    grant(700, 3, 5);
    redeem('other', 6000);
    expect(rows.movements.slice(2)).toEqual([
      ...['grant 10.00', 'grant 7.00', 'redeem -60.00', 'take_back -7.00', 'take_back -10.00', 'debt 43.00'],
    ]);
    expect(rows.entries.slice(-3)).toMatchObject(Array(3).fill({ orderId: 'order', refundId }));
    expect(rows.claims).toEqual([]);
  });

  it('a claim is not more than what is held, and what is not claimed becomes available, repays debt or expires', () => {
    claim(5500);
    expect(claimed()).toEqual([1500]);
    hold('other', 5000);
    expect([claimed(), rows.sums.availableCents]).toEqual([[500], 0]);
    hold('other', 4000);
    expect([claimed(), rows.sums.availableCents]).toEqual([[0], 500]);
    wait(2);
    hold('other', 0);
    expect(rows.movements.slice(2)).toEqual(['take_back -10.00', 'take_back -5.00', 'expire -5.00', 'expire -40.00']);
  });

  it('what is released repays debt before it is taken back for a claim that is still covered by what is held', () => {
    earn('debtor', 2000);
    redeem('spent', 2000);
    claim(5000);
    refund('debtor', 0, 2000);
    expect([claimed(), rows.sums.debtCents]).toEqual([[0, 1000], 2000]);
    hold('other', 3500);
    expect([claimed(), rows.sums.debtCents]).toEqual([[0, 500], 0]);
    expect(rows.movements.slice(-3)).toEqual(['take_back -20.00', 'repay -20.00', 'take_back -5.00']);
  });

  it('what returns to the credit repays the debt of its order before it is taken back', () => {
    earn('order', 10_000);
    redeem('spent', 4000);
    hold('other', 6000);
    refund('order', 0, 10_000);
    expect([claimed(), rows.sums.debtCents]).toEqual([[6000], 4000]);
    refund('spent', 4000, 0);
    expect(rows.movements.slice(-3)).toEqual(['return 40.00', 'take_back -40.00', 'repay -40.00']);
    expect([claimed(), rows.sums.debtCents]).toEqual([[6000], 0]);
  });

  it('two refunds of an order have two claims, and the first one is settled first', () => {
    earn('order', 1000);
    hold('other', 1000);
    const refunds = [refund('order', 0, 600), refund('order', 0, 400)];
    hold('other', 300);
    expect(rows.entries.slice(1)).toMatchObject([
      { kind: 'take_back', amountCents: -600, refundId: refunds[0] },
      { kind: 'take_back', amountCents: -100, refundId: refunds[1] },
    ]);
    expect(rows.claims).toMatchObject([{ refundId: refunds[1], amountCents: 300 }]);
  });
});

describe('voids of a wallet', () => {
  it('a void takes what is not held of credits, by expiry, once', () => {
    grant(1000, 0, 9);
    grant(400, 3, 5);
    hold('a', 300);
    const voidAll = (): number => rows.change((wallet) => wallet.void('the user', wallet.load(rows.credits)));
    expect([voidAll(), voidAll()]).toEqual([1100, 0]);
    expect(rows.movements.slice(2)).toEqual(['void -4.00', 'void -7.00']);
    expect(left()).toEqual([
      [300, 300],
      [0, 0],
    ]);
  });
});

/** A random operation on a wallet: its kind, whom it concerns, an amount, and a time. */
const operation = fc.record({
  kind: fc.constantFrom('grant', 'hold', 'hold', 'lapse', 'redeem', 'earn', 'refund', 'void', 'wait', 'wait'),
  order: fc.constantFrom('a', 'b', 'c', 'd'),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  days: fc.double({ min: 0, max: 9, noNaN: true }),
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Does operations one after another. An order redeems and earns once, and refunds return no more than it redeemed. */
function perform(operations: Operation[], check: () => void): void {
  const orders = new Map<string, { redeemed: number; earned: number; returned: number; takenBack: number }>();
  for (const { kind, order, share, days } of operations) {
    const done = orders.get(order);
    const ownCents = sumCents(rows.holdsOf(order).map(({ amountCents }) => amountCents));
    const amount = Math.floor(share * (rows.sums.availableCents + ownCents));
    if (kind === 'wait') wait(days);
    else if (kind === 'grant') grant(1 + Math.floor(share * 5000), days > 4 ? 0 : days, days + 1);
    else if (kind === 'void' && rows.credits[0]) {
      const first = rows.credits[Math.floor(share * 0.99 * rows.credits.length)]!;
      rows.change((wallet) => wallet.void('the user', wallet.load([first])));
    } else if (kind === 'lapse' && ownCents > 0) hold(order, 0, inDays(-share));
    else if (kind === 'hold' && done === undefined) hold(order, amount);
    else if (kind === 'redeem' && done === undefined) {
      redeem(order, amount);
      const earned = Math.floor(share * 3000);
      if (earned > 0) earn(order, earned, days);
      orders.set(order, { redeemed: amount, earned, returned: 0, takenBack: 0 });
    } else if (kind === 'refund' && done !== undefined) {
      const returned = Math.ceil(share * (done.redeemed - done.returned));
      const takenBack = Math.ceil(share * (done.earned - done.takenBack));
      refund(order, returned, takenBack, done.returned);
      done.returned += returned;
      done.takenBack += takenBack;
    }
    check();
  }
}

/** What docs/cashback.md says must stay true of credits, holds and entries. */
function expectRules(): void {
  const { sums, credits, entries, holds } = rows;
  for (const credit of credits) {
    const ofCredit = entries.filter(({ creditId }) => creditId === credit.id);
    const held = holds.filter(({ creditId }) => creditId === credit.id);
    expect(credit.remainingCents).toBe(sumCents(ofCredit.map(({ amountCents }) => amountCents)));
    expect(credit.heldCents).toBe(sumCents(held.map(({ amountCents }) => amountCents)));
    expect(credit.heldCents).toBeGreaterThanOrEqual(0);
    expect(freeCents(credit)).toBeGreaterThanOrEqual(0);
    expect(credit.remainingCents).toBeLessThanOrEqual(credit.amountCents);
    const claims = rows.claims.filter(({ orderId }) => orderId === credit.orderId);
    expect(credit.claimedCents).toBe(sumCents(claims.map(({ amountCents }) => amountCents)));
    expect(credit.claimedCents).toBeLessThanOrEqual(credit.heldCents);
    expect(Math.min(credit.claimedCents, freeCents(credit))).toBe(0);
  }
  const unwritten = sumCents(credits.filter(({ expiresAt }) => expiresAt <= rows.now).map(freeCents));
  expect(sums.balanceCents).toBe(sumCents(credits.map(({ remainingCents }) => remainingCents)));
  expect(sums.balanceCents).toBe(sums.availableCents + sums.pendingCents + sums.heldCents + unwritten);
  expect(Math.min(sums.debtCents, sums.availableCents + sums.pendingCents)).toBe(0);
  entries.forEach((entry, at) => {
    expect(entry.seq).toBe(at + 1);
    expect(Math.sign(entry.amountCents)).toBe(ENTRY_KINDS[entry.kind]);
    expect(+entry.createdAt).toBeGreaterThanOrEqual(+(entries[at - 1]?.createdAt ?? 0));
    if (entry.kind !== 'expire') expect(entry.effectiveAt).toEqual(entry.createdAt);
    else expect(entry.effectiveAt).toEqual(credits.find(({ id }) => id === entry.creditId)!.expiresAt);
  });
}

describe('the order of independent requests', () => {
  /** What is due for order x, which is taken back apart from what has expired unspent. */
  const refundDue = (dueCents: number): void => {
    const expiredCents = rows.change((wallet) => wallet.goneUnspent('x'), 'x');
    refund('x', 0, Math.max(0, dueCents - expiredCents));
  };
  const cents = fc.integer({ min: 0, max: 10_000 });
  const state = fc.record({
    ...{ spent: cents, y: cents, z: cents, debt: fc.constantFrom(0, 0, 3000), granted: cents, lateGrant: cents },
    ...{ due: cents, to: cents, isCapture: fc.boolean(), expiresIn: fc.constantFrom(1, 3, 30), waits: fc.boolean() },
  });

  it('a refund and what another order does with what it holds have the same result in both orders, also with a midnight between', () => {
    fc.assert(
      fc.property(state, ({ spent, y, z, debt, granted, lateGrant, due, to, isCapture, expiresIn, waits }) => {
        const results = [true, false].map((isRefundFirst) => {
          rows = new WalletInMemory(new Date('2026-11-20T12:00:00Z'));
          if (debt > 0) {
            earn('w', debt, 90);
            redeem('spent w', debt);
          }
          earn('x', 10_000, expiresIn);
          const held = [spent, y, z].map((part) => Math.min(part, Math.floor(10_000 / 3)));
          if (spent > 0) redeem('spent x', held[0]!);
          hold('y', held[1]!);
          hold('z', held[2]!);
          wait(2);
          if (debt > 0) refund('w', 0, debt);
          if (granted > 0) grant(granted, 0, 60);
          const act = (): void => {
            hold('y', Math.min(to, held[1]!));
            if (isCapture) redeem('y', Math.min(to, held[1]!));
          };
          const requests = [() => refundDue(due), act];
          if (!isRefundFirst) requests.reverse();
          requests[0]!();
          expectRules();
          // What is released repays such a debt only before its credit expires.
          if (waits && debt === 0) wait(2);
          // Of a debt of a third order, either the grant or what is released repays the first part.
          if (lateGrant > 0 && debt === 0) grant(lateGrant, 0, 70);
          requests[1]!();
          expectRules();
          const { debtCents, heldCents, availableCents } = rows.sums;
          const now = { debtCents, heldCents, availableCents, claimed: sumCents(claimed()) };
          const remaining = left();
          for (const order of ['y', 'z']) hold(order, 0);
          return { now, remaining, end: [rows.sums.debtCents, rows.sums.balanceCents] };
        });
        expect(results[0]).toEqual(results[1]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('what must stay true of a wallet', () => {
  it('sums, holds, entries and debts fit after each of many random operations', () => {
    fc.assert(
      fc.property(fc.array(operation, { minLength: 5, maxLength: 40 }), (operations) => {
        rows = new WalletInMemory();
        perform(operations, expectRules);
        expect(rows.sums.debtCents).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 300 },
    );
  });

  it('credits are in the order of their expiry, and those that expire together in the order of their creation', () => {
    for (const days of [9, 5, 5]) grant(1000, 0, days);
    const [late, first, second] = rows.credits;
    expect([...rows.credits].sort(byExpiry)).toEqual([first, second, late]);
  });
});
