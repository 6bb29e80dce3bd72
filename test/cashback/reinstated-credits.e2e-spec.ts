import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aCompletedOrder, aCreatedOrder, aDocument, anOrder, grant, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { localDate, startOfDayAfter } from '../support/model/days.js';
import { useService } from '../support/use-service.js';
import { movementsOf, rowsOf, statementOf, walletOf } from '../support/wallets.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const { service } = useService();
const now = (): number => service.clock.now().getTime();
const iso = (instant: number): string => new Date(instant).toISOString();
/** Moves the clock to an instant, or to just before it. */
const until = (instant: number, offsetMs = 0): Promise<void> =>
  service.clock.advance({ ms: instant + offsetMs - now() });

let merchant: TestMerchant;
let document: string;

async function send(answer: Promise<Answer>): Promise<any> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body;
}
const hold = (order: { id: string }, amount: string, expires_at?: string): Promise<Answer> =>
  merchant.client.put(`/orders/${order.id}/redemption`, { amount, expires_at });
const complete = (order: { id: string }, redeem?: string): Promise<Answer> =>
  merchant.client.post(`/orders/${order.id}/complete`, { redeem });
const cancel = (order: { id: string }): Promise<Answer> => merchant.client.post(`/orders/${order.id}/cancel`);
const refund = (order: { id: string }, amount = '100.00'): Promise<Answer> =>
  merchant.client.post(`/orders/${order.id}/refunds`, { external_id: `DEV-${amount}`, amount });
const anOrderUntil = (expiresAt: number): Promise<any> =>
  aCreatedOrder(merchant, { document, total: '100.00', expires_at: iso(expiresAt) });

/** What a customer can spend: the wallet, a quote, a new order, the order list, and what a hold takes agree. */
async function spendable(): Promise<string> {
  const { available } = await walletOf(merchant, document);
  const order = await aCreatedOrder(merchant, { document, total: '100.00' });
  const quote = await send(merchant.client.post('/quotes', { document, total: '100.00' }));
  const { body: page } = await merchant.client.get(`/orders?external_id=${order.external_id}`);
  const { body: read } = await merchant.client.get(`/orders/${order.id}`);
  const seen = [order, quote, page.data[0], read].map(({ cashback }) => cashback.to_redeem.available);
  expect(seen).toEqual([available, available, available, available]);
  const tooMuch = await hold(order, (Number(available) + 0.01).toFixed(2));
  expectProblem(tooMuch, 422, 'redemption_exceeds_maximum');
  expect(tooMuch.body.maximum).toBe(available);
  return available as string;
}

/** The first credit of the customer, with its dates. */
async function credit(): Promise<any> {
  const sql = `SELECT c.* FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id
                WHERE w.merchant_id = ? AND w.document = ? ORDER BY c.created_at, c.id LIMIT 1`;
  const [{ remaining_cents, expires_at, original_expires_at }] = await rowsOf(service, sql, [merchant.id, document]);
  return { remaining_cents: Number(remaining_cents), expires_at, original_expires_at };
}

/** Writes down what has lapsed and expired. */
async function touch(): Promise<void> {
  await aCompletedOrder(merchant, { document, total: '0.01', payment_methods: [] });
}

/** How 20.00 is taken from a credit, and how it, or a part of it, returns. `at` is when it returns. */
interface Path {
  take: (order: any) => Promise<unknown>;
  giveBack: (order: any) => Promise<{ at: string }>;
  returned: string;
  kind: 'release' | 'restore';
  /** The hold ends by itself, and nothing is written at that instant. */
  lapses?: boolean;
}

const takeByHold = (order: any): Promise<unknown> => send(hold(order, '20.00'));
const PATHS: Record<string, Path> = {
  'a hold that is lowered to 0.00': {
    take: takeByHold,
    giveBack: async (order) => ({ at: (await send(hold(order, '0.00'))).updated_at }),
    returned: '20.00',
    kind: 'release',
  },
  'a hold that is lowered': {
    take: takeByHold,
    giveBack: async (order) => {
      const body = await send(hold(order, '5.50'));
      // What stays held can be redeemed, although its credit has expired.
      expect((await send(complete(order))).cashback.to_redeem.redeemed).toBe('5.50');
      return { at: body.updated_at };
    },
    returned: '14.50',
    kind: 'release',
  },
  'an amendment that lowers the hold': {
    take: takeByHold,
    giveBack: async (order) => {
      const { items, payment_methods } = anOrder({ total: '5.50' });
      const content = { total: '5.50', items, payment_methods, redeem: 'maximum' };
      const body = await send(merchant.client.put(`/orders/${order.id}`, content));
      expect((await send(complete(order))).cashback.to_redeem.redeemed).toBe('5.50');
      return { at: body.updated_at };
    },
    returned: '14.50',
    kind: 'release',
  },
  'an order that is cancelled': {
    take: takeByHold,
    giveBack: async (order) => ({ at: (await send(cancel(order))).cancelled_at }),
    returned: '20.00',
    kind: 'release',
  },
  'an order that is completed with less': {
    take: takeByHold,
    giveBack: async (order) => ({ at: (await send(complete(order, '5.50'))).completed_at }),
    returned: '14.50',
    kind: 'release',
  },
  'a hold that lapses': {
    take: takeByHold,
    giveBack: async ({ expires_at }) => {
      await until(Date.parse(expires_at as string));
      return { at: expires_at };
    },
    returned: '20.00',
    kind: 'release',
    lapses: true,
  },
  'a refund that restores a redemption': {
    take: async (order) => send(complete(order, '20.00')),
    giveBack: async (order) => {
      const body = await send(refund(order));
      expect(body).toMatchObject({ cashback_returned: '20.00', amount_to_pay_back: '80.00' });
      return { at: body.created_at };
    },
    returned: '20.00',
    kind: 'restore',
  },
};

/** The next instant after 10 days at which the clocks of a zone change. */
function nextClockChange(zone: string): number {
  // Making a format is slow, and the loop asks for months of hours.
  const hours = new Intl.DateTimeFormat('en-US', { timeZone: zone, hour: '2-digit', hourCycle: 'h23' });
  const hourOf = (instant: number): string => hours.format(instant);
  let at = Math.ceil((now() + 10 * DAY_MS) / HOUR_MS) * HOUR_MS;
  while (hourOf(at) === hourOf(at + DAY_MS)) at += HOUR_MS;
  return at + DAY_MS;
}

describe.each([
  { zone: 'America/Sao_Paulo', changes: false },
  { zone: 'America/Santiago', changes: true },
])('cashback that returns to an expired credit, in $zone', ({ zone, changes }) => {
  const daysAfter = (instant: string, days: number): number => startOfDayAfter(Date.parse(instant), days, zone);

  beforeAll(async () => {
    merchant = await aLongLivedMerchant(service, {
      ...{ timeZone: zone, earnRateBps: 0, redeemShareBps: 10_000 },
      ...{ orderTtlMinutes: 30, maxOrderTtlMinutes: 60 * 24 * 60 },
    });
  });
  beforeEach(async () => {
    document = aDocument();
    // The clocks change in the 7 days for which the credit is reinstated.
    if (changes) await until(nextClockChange(zone) - 4 * DAY_MS);
  });
  afterEach(() => expectInvariants(service));

  it.each(Object.keys(PATHS))(
    'an expired credit is reinstated once, through the local date + 7, with the amount of %s',
    async (name) => {
      const path = PATHS[name]!;
      const expiresAt = now() + DAY_MS;
      await grant(service, merchant, document, '30.00', { expiresAt: new Date(expiresAt) });
      const first = await anOrderUntil(now() + 2 * DAY_MS);
      await path.take(first);
      await until(expiresAt + HOUR_MS);
      expect(await spendable()).toBe('0.00');

      const { at } = await path.giveBack(first);
      const end = daysAfter(at, 8);
      expect(localDate(end - 1, zone)).toBe(localDate(daysAfter(at, 7), zone));
      expect(await spendable()).toBe(path.returned);
      const reinstated = {
        available: path.returned,
        debt: '0.00',
        next_expiry: { amount: path.returned, at: iso(end) },
      };
      expect(await walletOf(merchant, document)).toMatchObject(reinstated);
      await until(end, -30_000);
      expect(await spendable()).toBe(path.returned);
      expect(await walletOf(merchant, document)).toMatchObject(reinstated);

      const second = await anOrderUntil(end + 2 * DAY_MS);
      await (path.kind === 'restore' ? send(complete(second, path.returned)) : send(hold(second, path.returned)));
      expect(await credit()).toEqual({
        remaining_cents: 0,
        expires_at: new Date(end),
        original_expires_at: new Date(expiresAt),
      });
      await until(end);
      expect(await spendable()).toBe('0.00');
      const last = await PATHS[path.returned === '20.00' ? name : 'a hold that is lowered to 0.00']!.giveBack(second);
      expect(await spendable()).toBe('0.00');
      const gone = { available: '0.00', pending: '0.00', held: '0.00', debt: '0.00', next_expiry: null };
      expect(await walletOf(merchant, document)).toMatchObject(gone);
      if (path.lapses) await touch();
      expect(await walletOf(merchant, document)).toMatchObject(gone);
      expect(await credit()).toEqual({
        remaining_cents: 0,
        expires_at: new Date(end),
        original_expires_at: new Date(expiresAt),
      });
      const [back, expiry] = (await statementOf(merchant, document)).slice(-2);
      expect(back).toMatchObject({
        kind: path.kind,
        amount: path.returned,
        effective_at: path.lapses ? back!.created_at : last.at,
      });
      expect(expiry).toMatchObject({
        kind: 'expire',
        amount: `-${path.returned}`,
        order_id: null,
        effective_at: iso(end),
      });
    },
  );

  it('credits that are reinstated at the end of a day and at the beginning of the next day expire on different days', async () => {
    const midnight = startOfDayAfter(now(), 2, zone);
    await grant(service, merchant, document, '10.00', { expiresAt: new Date(now() + DAY_MS / 2) });
    const early = await anOrderUntil(midnight - 60_000);
    await send(hold(early, '10.00'));
    const other = { merchant, document: aDocument() };
    await grant(service, merchant, other.document, '10.00', { expiresAt: new Date(now() + DAY_MS / 2) });
    const late = await aCreatedOrder(merchant, {
      document: other.document,
      total: '100.00',
      expires_at: iso(midnight),
    });
    await send(hold(late, '10.00'));
    await until(midnight - 60_000);
    await until(midnight);
    const ends = [await walletOf(merchant, document), await walletOf(merchant, other.document)];
    expect(ends.map(({ next_expiry }) => next_expiry)).toEqual([
      { amount: '10.00', at: iso(startOfDayAfter(midnight, 7, zone)) },
      { amount: '10.00', at: iso(startOfDayAfter(midnight, 8, zone)) },
    ]);
  });

  it('wallets and orders show a lapsed hold the same way before and after it is written, the second time too', async () => {
    await grant(service, merchant, document, '30.00', { expiresAt: new Date(now() + HOUR_MS) });
    const lapse = now() + 2 * HOUR_MS;
    const orders = [
      await anOrderUntil(lapse),
      await anOrderUntil(lapse + DAY_MS),
      await anOrderUntil(lapse + 10 * DAY_MS),
    ];
    for (const order of orders) await send(hold(order, '7.00'));
    const end = startOfDayAfter(lapse, 8, zone);
    const steps: [number, string][] = [
      [lapse, '7.00'],
      [lapse + DAY_MS, '14.00'],
      [end - 30_000, '14.00'],
      [end, '0.00'],
      [lapse + 10 * DAY_MS, '0.00'],
    ];
    for (const [instant, expected] of steps) {
      await until(instant);
      expect(await spendable()).toBe(expected);
    }
    const before = await walletOf(merchant, document);
    await touch();
    expect(await walletOf(merchant, document)).toEqual(before);
    expect(await movementsOf(merchant, document)).toEqual([
      ...['grant 30.00', 'hold -7.00', 'hold -7.00', 'hold -7.00', 'expire -9.00', 'release 7.00', 'release 7.00'],
      ...['expire -14.00', 'release 7.00', 'expire -7.00'],
    ]);
  });
});
