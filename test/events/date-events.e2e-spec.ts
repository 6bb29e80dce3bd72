import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { eventWalletOf, numberEvents, readFeed } from '../support/events.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { aSandboxMerchant, SANDBOX, type SandboxShop } from '../support/sandbox.js';
import { type Service, startService } from '../support/service.js';
import type { FeedEvent } from '../support/shop.js';
import { useService } from '../support/use-service.js';

// The clock moves by a year.
const env = { EVENT_RETENTION_DAYS: '3650' };
const { service } = useService({ env });
let second: Service;
let merchant: TestMerchant;

beforeAll(async () => {
  second = await startService({ env, databaseUrl: service.databaseUrl, clock: service.clock });
  // The announcements begin with the first sweep.
  await numberEvents(service);
});
afterAll(() => second.stop());
beforeEach(async () => {
  merchant = await aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 2, validityDays: 20 });
});

const MINUTE = 60_000;
const ZONE = 'America/Sao_Paulo';
const TYPES = '&types=cashback.available,cashback.expiring,cashback.expired';
const today = (): string => dayOf(service.clock.now(), ZONE);

/** Moves the clock to an instant, lets both instances do what is due, and returns the events of that. */
async function eventsAt(instant: Date, after = 0): Promise<FeedEvent[]> {
  service.clock.skip(+instant - +service.clock.now());
  await Promise.all([numberEvents(service), numberEvents(second), numberEvents(second)]);
  await numberEvents(service);
  return readFeed(merchant, after, TYPES);
}

/** Grants cashback by days. */
async function grantUntil(document: string, amount: string, expires_on: string, available_on?: string): Promise<void> {
  const external_id = `G-${document}-${amount}`;
  const { status } = await merchant.grant({ external_id, document, amount, expires_on, available_on }).answer;
  expect(status).toBe(201);
}

describe('the events of dates', () => {
  it('what becomes available on a day is one cashback.available per wallet with the sum, once for two instances', async () => {
    const [document, other] = [aDocument(), aDocument()];
    for (const total of ['100.00', '60.00']) await merchant.completed({ document, total });
    await merchant.completed({ document: other });
    await merchant.credit(document, '1.00');
    const start = startOfDay(addDays(today(), 2), ZONE);
    expect(await eventsAt(new Date(+start + MINUTE))).toEqual([]);
    const events = await eventsAt(new Date(+start + 2 * MINUTE));
    expect(events).toHaveLength(2);
    const event = events.find(({ data }) => data.wallet.document === document);
    expect(event).toMatchObject({ type: 'cashback.available', timestamp: expect.stringContaining('T03:02:') });
    const wallet = await eventWalletOf(merchant, document);
    expect(event!.data).toEqual({
      amount: '8.00',
      available_at: start.toISOString(),
      available_on: today(),
      wallet,
    });
    expect(wallet).toMatchObject({ available: '9.00', pending: '0.00' });
    expect(await eventsAt(new Date(+start + 60 * MINUTE))).toEqual(events);
  });

  it('a backlog of dates after an outage is announced by two instances in the order of the dates, each wallet once', async () => {
    const documents = Array.from({ length: 25 }, () => aDocument());
    for (const [at, document] of documents.entries()) {
      await grantUntil(document, '1.00', addDays(today(), 30), addDays(today(), 1 + (at % 3)));
      await grantUntil(document, '2.00', addDays(today(), 30), addDays(today(), 2 + (at % 3)));
    }
    const events = await eventsAt(startOfDay(addDays(today(), 6), ZONE));
    const dates = events.map(({ data }) => data.available_at);
    expect(dates).toEqual([...dates].sort());
    expect(events).toHaveLength(50);
    expect(new Set(events.map(({ data }) => `${data.wallet.document} ${data.available_at}`)).size).toBe(50);
  });
});

describe('the announcement of cashback that expires', () => {
  const { service: sandbox } = useService({ env: SANDBOX });
  /** The dates count from one that is tomorrow or later in every zone. */
  const dayZero = addDays(dayOf(new Date(), ZONE), 2);
  const inDays = (days: number): string => addDays(dayZero, days);

  /** A merchant whose clock stands at the beginning of a day. */
  async function aShop(policy: object): Promise<SandboxShop> {
    const shop = await aSandboxMerchant(sandbox, policy);
    await shop.move({ on: inDays(0) });
    return shop;
  }

  it('cashback that expires is announced seven days before, also if it was available at once, and then expires', async () => {
    const shop = await aShop({});
    const document = aDocument();
    await shop.granted(document, '5.00', { expires_on: inDays(12) });
    await shop.granted(document, '6.00', { expires_on: inDays(12), available_on: inDays(1) });
    await shop.granted(document, '9.00', { expires_on: inDays(40) });
    await shop.move({ on: inDays(6) });
    const [expiring, ...others] = await shop.eventsUntil({ on: inDays(12) });
    expect(others).toEqual([]);
    expect(expiring).toMatchObject({ type: 'cashback.expiring', timestamp: `${inDays(6)}T04:00:00.000Z` });
    expect(expiring!.data).toEqual({
      amount: '11.00',
      expires_at: `${inDays(13)}T03:00:00.000Z`,
      expires_on: inDays(12),
      wallet: await eventWalletOf(shop, document),
    });
    const [expired, ...more] = await shop.eventsUntil({ on: inDays(20) });
    expect(more).toEqual([]);
    expect(expired).toMatchObject({
      type: 'cashback.expired',
      timestamp: `${inDays(13)}T03:00:00.000Z`,
      data: { amount: '11.00', wallet: { available: '9.00' } },
    });
  });

  it('cashback that is granted less than seven days before it expires, or is spent by then, is not announced', async () => {
    const shop = await aShop({ redeem_share: '1' });
    const [late, spent] = [aDocument(), aDocument()];
    await shop.granted(late, '5.00', { expires_on: inDays(5) });
    await shop.granted(spent, '6.00', { expires_on: inDays(9) });
    await shop.completed({ document: spent, total: '6.00' }, { redeem: '6.00' });
    const events = await shop.eventsUntil({ on: inDays(20) });
    expect(events.map(({ type, data }) => [type, data.wallet.document])).toEqual([['cashback.expired', late]]);
  });

  it.each(['America/New_York', 'Europe/Berlin', 'Pacific/Auckland'])(
    'cashback in %s that expires after a change of the clocks is announced on the local day seven days before',
    async (time_zone) => {
      const shop = await aShop({ time_zone });
      const hoursOf = (day: string): number =>
        (+startOfDay(addDays(day, 1), time_zone) - +startOfDay(day, time_zone)) / (60 * MINUTE);
      const changes = Array.from({ length: 366 }, (_, at) => inDays(10 + at)).filter((day) => hoursOf(day) !== 24);
      const lastDays = changes.map((day) => addDays(day, 2));
      expect(new Set(changes.map(hoursOf))).toEqual(new Set([23, 25]));
      for (const lastDay of lastDays) await shop.granted(aDocument(), '5.00', { expires_on: lastDay });
      const events = await shop.eventsUntil({ on: addDays(lastDays.at(-1)!, 1) });
      const announced = events.filter(({ type }) => type === 'cashback.expiring');
      expect(announced.map(({ timestamp, data }) => [dayOf(new Date(timestamp), time_zone), data.expires_on])).toEqual(
        lastDays.map((lastDay) => [addDays(lastDay, -6), lastDay]),
      );
    },
  );
});
