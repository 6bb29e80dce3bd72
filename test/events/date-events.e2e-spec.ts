import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addDays, dayOf, startOfDay } from '../../src/common/calendar-days.js';
import { eventWalletOf, numberEvents, readFeed } from '../support/events.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
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
const today = (zone = ZONE): string => dayOf(service.clock.now(), zone);

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

  it('cashback that expires is announced seven days before, also if it was available at once, and then expires', async () => {
    const document = aDocument();
    const lastDay = addDays(today(), 12);
    await grantUntil(document, '5.00', lastDay);
    await grantUntil(document, '6.00', lastDay, addDays(today(), 1));
    await grantUntil(document, '9.00', addDays(today(), 40));
    const expiresAt = startOfDay(addDays(lastDay, 1), ZONE);
    await eventsAt(new Date(+expiresAt - 8 * 24 * 60 * MINUTE));
    const after = (await readFeed(merchant, 0, TYPES)).at(-1)!.sequence;
    const day = startOfDay(addDays(lastDay, -6), ZONE);
    expect(await eventsAt(day, after)).toEqual([]);
    const [expiring, ...others] = await eventsAt(new Date(+day + 63 * MINUTE), after);
    expect(others).toEqual([]);
    expect(expiring!.type).toBe('cashback.expiring');
    expect(expiring!.data).toEqual({
      amount: '11.00',
      expires_at: expiresAt.toISOString(),
      expires_on: lastDay,
      wallet: await eventWalletOf(merchant, document),
    });
    const [expired, ...more] = await eventsAt(expiresAt, expiring!.sequence);
    expect(more).toEqual([]);
    expect(expired).toMatchObject({
      type: 'cashback.expired',
      data: { amount: '11.00', wallet: { available: '9.00' } },
    });
  });

  it('cashback that is granted less than seven days before it expires, or is spent by then, is not announced', async () => {
    const [late, spent] = [aDocument(), aDocument()];
    await grantUntil(late, '5.00', addDays(today(), 5));
    await grantUntil(spent, '6.00', addDays(today(), 9));
    await merchant.completed({ document: spent, total: '6.00' }, { redeem: '6.00' });
    const events = await eventsAt(startOfDay(addDays(today(), 8), ZONE));
    expect(events.map(({ type, data }) => [type, data.wallet.document])).toEqual([['cashback.expired', late]]);
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

  it.each(['America/New_York', 'Europe/Berlin', 'Pacific/Auckland'])(
    'cashback in %s that expires after a change of the clocks is announced on the local day seven days before',
    async (timeZone) => {
      merchant = await aLongLivedMerchant(service, { timeZone });
      // The next two days with 23 and 25 hours, in either order.
      for (let changes = 0, day = addDays(today(timeZone), 12); changes < 2; day = addDays(day, 1)) {
        const hours = (+startOfDay(addDays(day, 1), timeZone) - +startOfDay(day, timeZone)) / (60 * MINUTE);
        if (hours === 24) continue;
        changes++;
        const document = aDocument();
        const lastDay = addDays(day, 2);
        await grantUntil(document, '5.00', lastDay);
        const announcedOn = addDays(lastDay, -6);
        const before = await eventsAt(new Date(+startOfDay(announcedOn, timeZone) - MINUTE));
        const [event] = (await eventsAt(new Date(+startOfDay(announcedOn, timeZone) + 123 * MINUTE))).slice(
          before.length,
        );
        expect(event).toMatchObject({ type: 'cashback.expiring', data: { expires_on: lastDay, wallet: { document } } });
        expect(dayOf(new Date(event!.timestamp), timeZone)).toBe(announcedOn);
      }
    },
  );
});
