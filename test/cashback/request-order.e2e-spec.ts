import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { FrozenClock } from '../support/clock.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { brl } from '../support/model/values.js';
import type { Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** At 10:00 in São Paulo, so that a day passes before each midnight, and there is no sweep before a test wants one. */
const clock = new FrozenClock();
clock.skip(2 * DAY_MS - ((clock.ms - 13 * HOUR_MS) % DAY_MS));
const { service, merchant } = useService({
  clock,
  merchant: (started) =>
    aLongLivedMerchant(started, {
      ...{ earnRateBps: 0, earnRatesByPaymentMethod: { bonus: 5000 }, redeemShareBps: 10_000 },
      ...{ releaseDays: 0, validityDays: 1, maxOrderTtlMinutes: 60 * 24 * 60 },
    }),
});

type Request = () => PromiseLike<unknown>;

const cents = fc.integer({ min: 1, max: 3333 });
const release = fc.record({
  kind: fc.constantFrom('cancel', 'lower', 'complete', 'redeem'),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
});
const situation = fc.record({
  ...{ spent: fc.oneof(fc.constant(0), cents), held: fc.tuple(cents, cents), releases: fc.tuple(release, release) },
  ...{ refunded: fc.integer({ min: 1, max: 20_000 }), granted: fc.oneof(fc.constant(0), cents) },
  ...{ midnight: fc.integer({ min: 0, max: 3 }) },
});

type Situation = typeof situation extends fc.Arbitrary<infer T> ? T : never;

/** A customer whose order of 200.00 earned 100.00 until midnight: a part is spent, and two orders hold other parts. */
async function aCustomer(spent: number, held: readonly number[]): Promise<{ x: Order; holding: Order[] }> {
  const document = aDocument();
  const x = await merchant.completed({
    document,
    total: '200.00',
    payment_methods: [{ id: 'bonus', amount: '200.00' }],
  });
  if (spent > 0) await merchant.completed({ document, total: '100.00' }, { redeem: brl(BigInt(spent)) });
  const holding: Order[] = [];
  for (const amount of held) {
    const expires_at = new Date(clock.ms + 20 * DAY_MS).toISOString();
    holding.push(
      await merchant.hold(await merchant.create({ document, total: '100.00', expires_at }), brl(BigInt(amount))),
    );
  }
  return { x, holding };
}

/** What another order does with what it holds. */
function releasing(order: Order, amount: number, { kind, part }: { kind: string; part: number }): Request {
  const less = brl(BigInt(Math.floor(amount * part)));
  if (kind === 'cancel') return () => merchant.cancel(order);
  if (kind === 'lower') return () => merchant.hold(order, less);
  return () => merchant.complete(order, kind === 'redeem' ? { redeem: less } : {});
}

/** The customer's wallet, with what is claimed. */
async function walletOf({ document }: Order): Promise<object> {
  const { id, available, pending, held, debt } = await merchant.wallet(document);
  const sql =
    'SELECT expires_at, remaining_cents, held_cents, claimed_cents FROM cashback_credits WHERE merchant_id = ? AND wallet_id = ? ORDER BY seq';
  return { available, pending, held, debt, credits: await rowsOf(service, sql, [merchant.id, id]) };
}

/** A customer, and the requests that come in some order. */
async function play(
  made: Situation,
  order: readonly number[],
): Promise<{ x: Order; holding: Order[]; requests: Request[] }> {
  const { x, holding } = await aCustomer(made.spent, made.held);
  const grant = {
    ...{ document: x.document, amount: brl(BigInt(made.granted)) },
    expires_on: new Date(clock.ms + 30 * DAY_MS).toISOString().slice(0, 10),
  };
  const requests: Request[] = [
    () => merchant.refund(x, brl(BigInt(made.refunded))),
    ...holding.map((other, at) => releasing(other, made.held[at]!, made.releases[at]!)),
    () => (made.granted > 0 ? merchant.grant(grant) : Promise.resolve()),
  ];
  return { x, holding, requests: order.map((at) => requests[at]!) };
}

test('refunds, grants and what other orders do with what they hold have one result in any order, also with a midnight between', async () => {
  const inAnyOrder = fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 });
  const numRuns = Number(process.env.MODEL_SEQUENCES ?? 12);
  const property = fc.asyncProperty(situation, inAnyOrder, inAnyOrder, async (made, ...orders) => {
    const players = [await play(made, orders[0]), await play(made, orders[1])];
    const expectSame = async (): Promise<void> => {
      expect(await walletOf(players[1]!.x)).toEqual(await walletOf(players[0]!.x));
    };
    for (let at = 0; at < 4; at++) {
      if (at === made.midnight) await clock.advance({ days: 1 });
      for (const { requests } of players) await requests[at]!();
    }
    await expectSame();
    for (const { holding } of players) for (const order of holding) await merchant.cancel(order).answer;
    await expectSame();
    await clock.advance({ days: 32 });
    await expectSame();
  });
  await fc.assert(property, { numRuns, endOnFailure: true });
  await expectInvariants(service);
}, 600_000);
