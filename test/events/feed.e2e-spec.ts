import { beforeEach, describe, expect, it } from '@jest/globals';
import { FEED_EVENT_TYPES } from '../../src/platform/values/domain-event.js';
import { type Answer } from '../support/client.js';
import {
  appendAt,
  appendEvents,
  cancelOrders,
  eventsOf,
  expectComplete,
  numberEvents,
  readFeed,
} from '../support/events.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { rowsReadBy, statementsOf } from '../support/server-counters.js';
import { useService } from '../support/use-service.js';
import type { EventPage, FeedEvent } from '../support/shop.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService({ env: { DATABASE_POOL_SIZE: '1' } });
let merchant: TestMerchant;

beforeEach(async () => {
  merchant = await aLongLivedMerchant(service);
});

const list = (query = ''): Promise<Answer<EventPage>> => merchant.client.get<EventPage>(`/events${query}`);

const cancelled = (count: number): Promise<void> => cancelOrders(service, merchant, count);

describe('GET /events', () => {
  it('the feed of a merchant without events is empty, and its position is 0', async () => {
    expect(await list()).toMatchObject({ status: 200, body: { data: [], next_after: 0, has_more: false } });
    expect(Object.keys((await list()).body)).toEqual(['data', 'next_after', 'has_more']);
  });

  it('GET /events returns events after a position in the order of their sequence, at most limit', async () => {
    await cancelled(3);
    const all = (await list()).body;
    expectComplete(all.data);
    expect(all).toMatchObject({ next_after: 6, has_more: false });
    const { body } = await list('?after=1&limit=3');
    expect(body).toEqual({ data: all.data.slice(1, 4), next_after: 4, has_more: true });
    expect((await list('?after=4&limit=2')).body).toEqual({ data: all.data.slice(4), next_after: 6, has_more: false });
    expect((await list('?after=6')).body).toEqual({ data: [], next_after: 6, has_more: false });
  });

  it('a page of events of orders with 100 KB of items ends before 1 MiB, and the next ones have the others', async () => {
    const items = Array.from({ length: 450 }, (_, at) => ({
      id: `sku-${at}`,
      price: '1.00',
      description: 'é'.repeat(95),
    }));
    for (let at = 0; at < 15; at++) await merchant.cancel(await merchant.create({ items, total: '450.00' }));
    const all = await eventsOf(service, merchant);
    expectComplete(all);
    expect(all).toHaveLength(30);
    for (const { data } of all) {
      const { items: shown } = data.order!;
      expect(Buffer.byteLength(JSON.stringify(shown))).toBeGreaterThan(100_000);
      expect(shown).toEqual(items.map((item) => ({ ...item, quantity: 1 })));
    }
    for (let after = 0; after < 30;) {
      const { body } = await list(`?after=${after}`);
      expect(body.data[0]).toEqual(all[after]);
      expect(body.data.length).toBeLessThanOrEqual(9);
      expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThanOrEqual(1024 * 1024);
      after = body.next_after;
    }
    const created = await readFeed(merchant, 0, '&types=order.created');
    expect(created).toEqual(all.filter(({ type }) => type === 'order.created'));
    expect(created).toHaveLength(15);
  });

  it.each([
    ['after', '-1'],
    ['after', 'x'],
    ['after', '1.5'],
    ['after', '9999999999999999'],
    ['after', '11'],
    ['from', '2026-11-20'],
    ['from', '2026-11-20T00:00:00'],
    ['from', ''],
    ['last', '0'],
    ['last', '101'],
    ['last', 'x'],
    ['limit', '0'],
    ['limit', '101'],
    ['types', ''],
    ['types', 'order.read'],
    ['types', 'order.completed,'],
    ['types', 'order.completed,nothing'],
    ['type', 'order.completed'],
  ])('GET /events returns 400 for %s=%s', async (parameter, value) => {
    await cancelled(5);
    const answer = await list(`?${parameter}=${value}`);
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body).toMatchObject({ errors: [{ parameter }] });
  });

  it('GET /events returns 400 for an after beyond the end that names the end', async () => {
    await cancelled(1);
    const { body } = await list('?after=3');
    expect(body).toMatchObject({ errors: [{ detail: expect.stringContaining('must be at most 2') }] });
    expect((await list('?after=3&types=order.expired')).status).toBe(400);
  });

  it('types selects events, and a reader that finds few goes on without missing any', async () => {
    const document = await merchant.customerWith('20.00');
    await merchant.completed({ document });
    await cancelled(2);
    const types = async (query: string): Promise<string[]> =>
      (await readFeed(merchant, 0, query)).map(({ type }) => type);
    const all = await types('');
    const cancellation = ['order.created', 'order.cancelled'];
    const sale = ['order.created', 'order.completed'];
    expect(all).toEqual(['cashback.granted', ...sale, ...cancellation, ...cancellation]);
    expect(await types('&types=order.cancelled,cashback.granted')).toEqual([all[0], all[4], all[6]]);
    expect(await types('&types=order.cancelled&types=cashback.granted')).toEqual([all[0], all[4], all[6]]);
    expect(await types('&types=order.created')).toEqual([all[1], all[3], all[5]]);
    expect(await types('&types=order.created&limit=1')).toEqual([all[1], all[3], all[5]]);
    expect((await list('?types=order.cancelled&limit=1')).body).toMatchObject({ next_after: 5, has_more: true });
    expect((await list('?types=order.completed')).body).toMatchObject({ next_after: 7, has_more: false });
    for (const type of FEED_EVENT_TYPES) expect((await list(`?types=${type}`)).status).toBe(200);
  });

  it('a page of a type that is rare in a long feed can be empty, and the next one goes on', async () => {
    await cancelled(1);
    await appendEvents(service, merchant, 4100, 'order.renewed');
    await appendEvents(service, merchant, 1, 'order.amended');
    const first = (await list('?types=order.amended')).body;
    expect(first).toMatchObject({ data: [], has_more: true });
    expect(first.next_after).toBeGreaterThanOrEqual(1000);
    const found = await readFeed(merchant, 0, '&types=order.amended');
    expect(found.map(({ sequence }) => sequence)).toEqual([4103]);
  });

  it('a page of many events runs as many SQL statements as one of few', async () => {
    const document = await merchant.customerWith('1.00');
    await merchant.completed({ document });
    await numberEvents(service);
    const few = await statementsOf(service, () => list());
    for (let at = 0; at < 10; at++) {
      const customer = aDocument();
      await merchant.credit(customer, '1.00');
      await merchant.completed({ document: customer });
    }
    await numberEvents(service);
    expect((await list()).body.data).toHaveLength(33);
    expect(await statementsOf(service, () => list())).toBe(few);
  });
});

describe('GET /events?from= and ?last=', () => {
  const SECOND = 1000;
  const at = (instant: number | string): string => `?from=${new Date(instant).toISOString()}`;

  it('GET /events?from= starts with the first event at that instant or later, however timestamps are mixed', async () => {
    await cancelled(1);
    const start = +service.clock.now();
    // Neighbors differ by up to two minutes, as they do if the clocks of two instances differ by a minute.
    const ahead = [0, 119, 5, 90, 90, 30, 118, 61, 10, 100, 0, 75];
    const timeOf = (n: number): Date => new Date(start + (n * 10 + ahead[n % ahead.length]!) * SECOND);
    const times = Array.from({ length: 300 }, (_, n) => timeOf(n));
    await appendAt(service, merchant, times, 'order.renewed');
    const all = await readFeed(merchant);
    const known = all.map(({ timestamp }) => Date.parse(timestamp));
    const instants = [...known, ...known.map((time) => time + 1), start - 1, start + 999_999 * SECOND];
    for (const instant of instants.filter((_, n) => n % 7 === 0)) {
      const { body } = await list(`${at(instant)}&limit=1`);
      const first = known.findIndex((time) => time >= instant);
      const next_after = first === -1 ? 302 : first + 1;
      expect(body).toEqual({ data: first === -1 ? [] : [all[first]], next_after, has_more: next_after < 302 });
    }
  });

  it('GET /events?from= starts with the oldest event that is kept, and a later instant than all has the end of the feed', async () => {
    for (const instant of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', '2026-11-20T00:00:00%2B03:00'])
      expect((await list(`?from=${instant}`)).body).toEqual({ data: [], next_after: 0, has_more: false });
    await cancelled(2);
    await service.clock.advance({ days: 91 });
    await cancelled(1);
    for (const instant of ['0000-01-01T00:00:00Z', '1970-01-01T00:00:00-03:00'])
      expect((await list(`?from=${instant}`)).body).toMatchObject({ data: [{ sequence: 5 }, { sequence: 6 }] });
    const end = { data: [], next_after: 6, has_more: false };
    expect((await list(at(+service.clock.now() + SECOND))).body).toEqual(end);
    expect((await list('?from=9999-12-31T23:59:59.999Z')).body).toEqual(end);
    await service.clock.advance({ days: 91 });
    expect((await list('?from=0000-01-01T00:00:00Z')).body).toEqual(end);
    const other = await aMerchant(service);
    expect((await other.client.get<EventPage>('/events?last=5')).body).toEqual({ ...end, next_after: 0 });
  });

  it('GET /events?last= has the newest events in the order of their sequence, of some types if the request says so', async () => {
    await cancelled(4);
    const all = (await list()).body.data;
    expect((await list('?last=3')).body).toEqual({ data: all.slice(5), next_after: 8, has_more: false });
    expect((await list('?last=100')).body).toEqual({ data: all, next_after: 8, has_more: false });
    expect((await list('?last=3&limit=1')).body).toEqual({ data: [all[5]], next_after: 6, has_more: true });
    const cancellations = (await list('?last=2&types=order.cancelled')).body;
    expect(cancellations).toEqual({ data: [all[5], all[7]], next_after: 8, has_more: false });
    expect((await list('?last=9&types=order.refunded')).body).toEqual({ data: [], next_after: 8, has_more: false });
    await appendEvents(service, merchant, 2000, 'order.renewed');
    expect((await list('?last=9&types=order.cancelled')).body).toEqual({ data: [], next_after: 2008, has_more: false });
    await service.clock.advance({ days: 91 });
    expect((await list('?last=9')).body).toEqual({ data: [], next_after: 2008, has_more: false });
  });

  it('GET /events?from= reads the events of two minutes and a few more, however long the feed is', async () => {
    await cancelled(1);
    const start = Date.parse((await list()).body.data[1]!.timestamp);
    // Each event is a second after the one before.
    for (let count = 1; count < 65_536; count *= 2)
      await rowsOf(
        service,
        `INSERT INTO events (merchant_id, sequence, id, type, subject_id, data, occurred_at)
         SELECT merchant_id, sequence + ?, UUID(), 'order.renewed', subject_id, data, occurred_at + INTERVAL ? SECOND
           FROM events WHERE merchant_id = ? AND sequence >= 2`,
        [count, count, merchant.id],
      );
    await rowsOf(service, 'UPDATE event_feeds SET last_sequence = 65537 WHERE merchant_id = ?', [merchant.id]);
    const read = await rowsReadBy(service, async () => {
      const { body } = await list(`${at(start + 40_000 * SECOND)}&limit=1`);
      expect(body).toMatchObject({ data: [{ sequence: 40_002 }], next_after: 40_002, has_more: true });
    });
    expect(read).toBeLessThan(300);
  });

  it.each([
    ['?after=0&from=2026-11-20T00:00:00Z', ['from']],
    ['?last=1&from=2026-11-20T00:00:00Z', ['last']],
    ['?last=1&after=0', ['last']],
    ['?last=1&after=0&from=2026-11-20T00:00:00Z', ['from', 'last']],
  ])('GET /events%s returns 400, because only one of them can say where to start', async (query, parameters) => {
    const answer = await list(query);
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body).toMatchObject({ errors: parameters.map((parameter) => ({ parameter })) });
  });
});

describe('GET /events/{id}', () => {
  it('GET /events/{id} returns the event of the feed, to its merchant only', async () => {
    await cancelled(2);
    const [, event] = await eventsOf(service, merchant);
    expect(await merchant.client.get<FeedEvent>(`/events/${event!.id}`)).toMatchObject({ status: 200, body: event });
    const other = await aMerchant(service);
    expectProblem(await other.client.get<FeedEvent>(`/events/${event!.id}`), 404, 'not_found');
    expect((await other.client.get<EventPage>('/events')).body.data).toEqual([]);
    expectProblem(await other.client.get('/events?after=1'), 400, 'validation_failed');
  });

  it.each(['evt_01a20e36-5080-70fc-9b0b-0a0e18ffb167', '01a20e36-5080-70fc-9b0b-0a0e18ffb167', 'evt_', 'x'])(
    'GET /events/%s returns 404',
    async (id) => {
      expectProblem(await merchant.client.get<FeedEvent>(`/events/${id}`), 404, 'not_found');
    },
  );
});

describe('the retention of events', () => {
  const daysAgo = (days: number): Date => new Date(+service.clock.now() - days * 86_400_000);

  it('events are deleted after 90 days, and reading goes on from the oldest that is kept', async () => {
    await cancelled(3);
    const [first] = await eventsOf(service, merchant);
    await service.clock.advance({ days: 60 });
    await cancelled(1);
    expect((await list()).body.data).toHaveLength(8);
    await service.clock.advance({ days: 30 });
    const gone = await list('?after=5');
    expectProblem(gone, 410, 'events_expired');
    expect(gone.body).toMatchObject({ oldest: 7, retryable: false, next_action: 'fix_request' });
    expectProblem(await list(), 410, 'events_expired');
    expectProblem(await list('?types=order.expired'), 410, 'events_expired');
    const { body } = await list('?after=6');
    expect(body).toMatchObject({ data: [{ sequence: 7 }, { sequence: 8 }], next_after: 8, has_more: false });
    expectProblem(await merchant.client.get<FeedEvent>(`/events/${first!.id}`), 404, 'not_found');
  });

  it('a feed whose events are all deleted goes on with its next number', async () => {
    await cancelled(1);
    await service.clock.advance({ days: 91 });
    expect((await list('?after=1')).body).toMatchObject({ code: 'events_expired', oldest: 3 });
    expect((await list('?after=2')).body).toEqual({ data: [], next_after: 2, has_more: false });
    await cancelled(1);
    expect((await list('?after=2')).body).toMatchObject({ data: [{ sequence: 3 }, { sequence: 4 }], next_after: 4 });
    await service.clock.advance({ days: 91 });
    expect((await list('?after=2')).body).toMatchObject({ code: 'events_expired', oldest: 5 });
  });

  it('a long feed is deleted in several steps, up to the first event that is kept', async () => {
    await cancelled(1);
    await appendEvents(service, merchant, 2298, 'order.renewed', daysAgo(91));
    await appendEvents(service, merchant, 50, 'order.renewed');
    await appendEvents(service, merchant, 50, 'order.renewed', daysAgo(91));
    // The first events are kept, so nothing is deleted: there are no gaps.
    expect(await readFeed(merchant)).toHaveLength(2400);
    await rowsOf(service, 'UPDATE events SET occurred_at = ? WHERE merchant_id = ? AND sequence <= 2', [
      daysAgo(91),
      merchant.id,
    ]);
    await numberEvents(service);
    expect((await list()).body).toMatchObject({ code: 'events_expired', oldest: 2301 });
    expect(await readFeed(merchant, 2300)).toHaveLength(100);
  });
});
