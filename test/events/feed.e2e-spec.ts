import { beforeEach, describe, expect, it } from '@jest/globals';
import { FEED_EVENT_TYPES } from '../../src/common/domain-event.js';
import { type Answer, Client } from '../support/client.js';
import { appendEvents, cancelOrders, eventsOf, expectComplete, numberEvents, readFeed } from '../support/events.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { statementsOf } from '../support/server-counters.js';
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

  it('a page of events with large metadata ends before 1 MiB, and the next ones have the others', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, 'é'.repeat(500)]));
    const order = await merchant.completed({ metadata });
    await eventsOf(service, merchant);
    await appendEvents(service, merchant, 118, 'order.completed');
    const { body } = await list();
    expect(body).toMatchObject({ next_after: body.data.length, has_more: true });
    const bytes = Buffer.byteLength(JSON.stringify(body));
    expect(bytes).toBeLessThanOrEqual(1024 * 1024);
    // Events differ in size by some members.
    expect(bytes + (1.1 * bytes) / body.data.length).toBeGreaterThan(1024 * 1024);
    const events = await readFeed(merchant);
    expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 120 }, (_, at) => at + 1));
    expect(events.every(({ data }) => data.order?.id === order.id)).toBe(true);
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

  it('GET /events requires a token', async () => {
    expectProblem(await new Client(service).get('/events'), 401, 'missing_token');
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
