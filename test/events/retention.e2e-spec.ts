import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import { appendEvents, cancelOrders, eventsOf, numberEvents, readFeed } from '../support/events.js';
import { expectProblem } from '../support/expectations.js';
import type { TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';
import type { EventPage, FeedEvent } from '../support/shop.js';

const { service } = useService();
let merchant: TestMerchant;

beforeEach(async () => {
  merchant = await aLongLivedMerchant(service);
});

const list = (query: string): Promise<Answer<EventPage>> => merchant.client.get<EventPage>(`/events${query}`);
const daysAgo = (days: number): Date => new Date(+service.clock.now() - days * 86_400_000);

describe('the retention of events', () => {
  it('events are deleted after 90 days, and reading goes on from the oldest that is kept', async () => {
    await cancelOrders(service, merchant, 3);
    const [first] = await eventsOf(service, merchant);
    await service.clock.advance({ days: 60 });
    await cancelOrders(service, merchant, 2);
    expect((await list('')).body.data).toHaveLength(5);
    await service.clock.advance({ days: 30 });
    const gone = await list('?after=2');
    expectProblem(gone, 410, 'events_expired');
    expect(gone.body).toMatchObject({ oldest: 4, retryable: false, next_action: 'fix_request' });
    expectProblem(await list(''), 410, 'events_expired');
    expectProblem(await list('?types=order.expired'), 410, 'events_expired');
    const { body } = await list('?after=3');
    expect(body).toMatchObject({ data: [{ sequence: 4 }, { sequence: 5 }], next_after: 5, has_more: false });
    expectProblem(await merchant.client.get<FeedEvent>(`/events/${first!.id}`), 404, 'not_found');
  });

  it('a feed whose events are all deleted goes on with its next number', async () => {
    await cancelOrders(service, merchant, 2);
    await service.clock.advance({ days: 91 });
    expect((await list('?after=1')).body).toMatchObject({ code: 'events_expired', oldest: 3 });
    expect((await list('?after=2')).body).toEqual({ data: [], next_after: 2, has_more: false });
    await cancelOrders(service, merchant, 1);
    expect((await list('?after=2')).body).toMatchObject({ data: [{ sequence: 3 }], next_after: 3 });
    await service.clock.advance({ days: 91 });
    expect((await list('?after=2')).body).toMatchObject({ code: 'events_expired', oldest: 4 });
  });

  it('a long feed is deleted in several steps, up to the first event that is kept', async () => {
    await cancelOrders(service, merchant, 1);
    await appendEvents(service, merchant, 2299, 'order.renewed', daysAgo(91));
    await appendEvents(service, merchant, 50, 'order.renewed');
    await appendEvents(service, merchant, 50, 'order.renewed', daysAgo(91));
    // The first event is kept, so nothing is deleted: there are no gaps.
    expect(await readFeed(merchant)).toHaveLength(2400);
    await rowsOf(service, 'UPDATE events SET occurred_at = ? WHERE merchant_id = ? AND sequence = 1', [
      daysAgo(91),
      merchant.id,
    ]);
    await numberEvents(service);
    expect((await list('')).body).toMatchObject({ code: 'events_expired', oldest: 2301 });
    expect(await readFeed(merchant, 2300)).toHaveLength(100);
  });
});
