import { request as httpRequest } from 'node:http';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { atOnce, Client } from '../support/client.js';
import { expectComplete, readFeed } from '../support/events.js';
import { findingsOf } from '../support/expectations.js';
import { aDocument, anOrder } from '../support/factories.js';
import { aSandboxMerchant, type Move, SANDBOX, type SandboxShop } from '../support/sandbox.js';
import { startService } from '../support/service.js';
import type { FeedEvent } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const DAY_MS = 86_400_000;
const START = Date.now() + DAY_MS;

const day = (number: number): string => new Date(START + number * DAY_MS).toISOString();

/** What a merchant does in some months, and what happens to it. */
async function sell(shop: SandboxShop, customers: readonly string[]): Promise<void> {
  await shop.move({ now: day(0) });
  for (const [at, document] of customers.entries()) {
    await shop.move({ now: day(at * 3) });
    await shop.completed({ document });
    await shop.create({ document });
  }
}

/** The events without what differs between two merchants. */
const plain = (events: readonly FeedEvent[]): unknown[] =>
  events.map(({ type, sequence, timestamp, data: { wallet, amount } }) => {
    const { available, pending, debt } = wallet ?? {};
    return { type, sequence, timestamp, amount, available, pending, debt };
  });

describe('a clock that is moved while other things happen', () => {
  const { service } = useService({ env: SANDBOX });
  const policy = { release_days: 2, validity_days: 30 };

  it('two scripts of a year at the same time on two merchants see the same events', async () => {
    const scripts = await atOnce(2, async () => {
      const shop = await aSandboxMerchant(service, policy);
      const customers = [aDocument(), aDocument(), aDocument()];
      await sell(shop, [...customers, ...customers, ...customers]);
      await shop.move({ now: day(365) });
      return plain(await readFeed(shop));
    });
    expect(scripts[0]!.length).toBeGreaterThan(9 * 5);
    expect(scripts[1]).toEqual(scripts[0]);
    expect(await findingsOf(service)).toEqual([]);
  });

  it('moves of one clock to several dates at once, by two instances, do what one move to the last date does', async () => {
    const second = await startService({ env: SANDBOX, databaseUrl: service.databaseUrl });
    try {
      const [alone, raced] = [await aSandboxMerchant(service, policy), await aSandboxMerchant(service, policy)];
      const customers = [aDocument(), aDocument(), aDocument(), aDocument()];
      for (const shop of [alone, raced]) await sell(shop, customers);
      await alone.move({ now: day(300) });
      const clients = [service, second].map(({ url }) => new Client({ url }, raced.tokens.access_token));
      const ends = await atOnce(12, async (number) => {
        const now = day(number % 3 === 0 ? 300 : 20 + number * 20);
        for (;;) {
          const { status, body } = await clients[number % 2]!.put<Move & { code?: string }>('/sandbox/clock', { now });
          if (status !== 200 || body.done) return body.code ?? 'done';
        }
      });
      // Another one can be ahead of those to earlier dates.
      expect(['done', 'clock_backwards']).toEqual(expect.arrayContaining(ends));
      expect([0, 3, 6, 9].map((number) => ends[number])).toEqual(Array(4).fill('done'));
      expect(await raced.get('/sandbox/clock')).toEqual({ now: day(300), frozen: true, moving: false });
      expect(plain(await readFeed(raced))).toEqual(plain(await readFeed(alone)));
      expect(await findingsOf(service)).toEqual([]);
    } finally {
      await second.stop();
    }
  });

  it('operations that race a move happen before, between or after its dates, and nothing is lost', async () => {
    const shop = await aSandboxMerchant(service, policy);
    const documents = [aDocument(), aDocument(), aDocument()];
    await sell(shop, documents);
    let isMoving = true;
    const instants: string[] = [];
    const statuses = new Set<number>();
    const sales = Promise.all(
      documents.map(async (document) => {
        while (isMoving) {
          const order = await shop.create({ document });
          const { maximum } = order.cashback.to_redeem;
          const { status } = await shop.complete(order, { redeem: maximum }).answer;
          instants.push(order.created_at);
          statuses.add(status);
          // Each order is another date at which the clock stands.
          await sleep(50);
        }
      }),
    );
    for (let month = 1; month <= 6; month++) await shop.move({ now: day(month * 30) });
    isMoving = false;
    await sales;
    await shop.move({ now: day(300) });
    const events = await readFeed(shop);
    expectComplete(events);
    expect(new Set(instants).size).toBeGreaterThan(3);
    // A move can be between the creation and the completion.
    expect([200, 409]).toEqual(expect.arrayContaining([...statuses]));
    const timestamps = events.filter(({ type }) => type !== 'order.created').map(({ timestamp }) => timestamp);
    expect(timestamps).toEqual([...timestamps].sort());
    for (const document of documents)
      expect(await shop.wallet(document)).toMatchObject({ available: '0.00', pending: '0.00', held: '0.00' });
    expect((await shop.orders('status=pending')).data).toEqual([]);
    expect(await findingsOf(service)).toEqual([]);
  });

  it('the first move waits for what is under way, and what comes later is after it', async () => {
    const shop = await aSandboxMerchant(service, policy);
    const documents = Array.from({ length: 8 }, aDocument);
    const [{ now }, ...orders] = await Promise.all([
      shop.move({ now: day(100) }),
      ...documents.map((document) => shop.completed({ document })),
    ]);
    expect(now).toBe(day(100));
    for (const { created_at } of orders) expect(created_at === now || Date.parse(created_at) < START).toBe(true);
    await shop.move({ now: day(200) });
    for (const document of documents) {
      const { data } = await shop.get<{ data: FeedEvent[] }>('/events?limit=100');
      const types = data.filter((event) => event.data.wallet?.document === document).map(({ type }) => type);
      expect(types.filter((type) => type.startsWith('cashback.'))).toEqual([
        'cashback.available',
        'cashback.expiring',
        'cashback.expired',
      ]);
    }
    expect(await findingsOf(service)).toEqual([]);
  });

  it('a request whose body has not arrived does not hold up a move', async () => {
    const shop = await aSandboxMerchant(service, policy);
    const body = JSON.stringify(anOrder());
    const half = new PassThrough();
    const sent = new Promise<number>((resolve, reject) => {
      const request = httpRequest(`${service.url}/orders`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${shop.tokens.access_token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      });
      request.on('response', (response) => resolve(response.resume().statusCode!)).on('error', reject);
      half.pipe(request);
    });
    half.write(body.slice(0, 20));
    await shop.quote({ total: '10.00', items: [{ id: 'a', price: '10.00' }], payment_methods: [] });
    expect(await shop.put<Move>('/sandbox/clock', { now: day(3) })).toMatchObject({ done: true });
    half.end(body.slice(20));
    expect(await sent).toBe(201);
    expect((await shop.orders()).data).toMatchObject([{ created_at: day(3) }]);
  });
});
