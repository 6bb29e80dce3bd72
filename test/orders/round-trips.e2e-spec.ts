import { describe, expect, it } from '@jest/globals';
import { aMerchant, anOrder } from '../support/factories.js';
import { startService } from '../support/service.js';
import type { Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { statementsOf } from '../support/server-counters.js';

const env = { DATABASE_POOL_SIZE: '1' };
const { service, merchant } = useService({ env });
const statements = (act: () => PromiseLike<unknown>): Promise<number> => statementsOf(service, act);

describe('the number of SQL statements per request, including the token lookup', () => {
  it('POST /orders runs six SQL statements when it creates, replays or refuses an order, and two more at most once per second for the policy', async () => {
    // The name of the user is read once per minute.
    await merchant.create();
    const counts: number[][] = [];
    for (let round = 0; round < 10; round++) {
      const order = anOrder();
      const requests = [order, order, { ...order, total: '151.00' }];
      counts.push([]);
      for (const body of requests) counts.at(-1)?.push(await statements(() => merchant.client.post('/orders', body)));
    }
    // The order and its event are a transaction of four statements. A replay has no event, and reads the order.
    // On a slow machine, the policy can be read in every round, but each time by another request.
    expect([0, 1, 2].map((kind) => Math.min(...counts.map((round) => round[kind]!)))).toEqual([6, 6, 6]);
    expect(Math.max(...counts.flat())).toBeLessThanOrEqual(8);
  });

  it('POST /orders runs at most one more SQL statement when requests are rate limited', async () => {
    const limited = await startService({ databaseUrl: service.databaseUrl, env: { ...env, RATE_LIMIT: '100' } });
    try {
      const caller = await aMerchant(limited);
      await caller.create();
      const counts: number[] = [];
      for (let sent = 0; sent < 25; sent++) counts.push(await statementsOf(limited, () => caller.create().answer));
      // The policy is read at most once per second.
      expect(Math.min(...counts)).toBe(6);
      expect(Math.max(...counts)).toBeLessThanOrEqual(8);
    } finally {
      await limited.stop();
    }
  });

  it('GET /orders/{id} runs two SQL statements with or without a hold', async () => {
    const order = anOrder();
    await merchant.credit(order.document, '20.00');
    const body = await merchant.create(order);
    expect(await statements(() => merchant.order(body).answer)).toBe(2);
    await merchant.hold(body, '20.00');
    expect(await statements(() => merchant.order(body).answer)).toBe(2);
  });

  it('lists run as many SQL statements for a full page as for one line', async () => {
    const { document } = anOrder();
    const order = await merchant.completed({ document });
    const { id } = await merchant.wallet(document);
    const paths = ['entries', 'credits'].map((list) => `/wallets/${id}/${list}`);
    // The policy, for the days of credits, is read at most once per second.
    const least = async (list: () => PromiseLike<unknown>): Promise<number> =>
      Math.min(await statements(list), await statements(list), await statements(list));
    const counts = async (): Promise<number[]> => {
      const all = [await least(() => merchant.searchOrders({ document }).answer)];
      for (const path of paths) all.push(await least(() => merchant.client.get(path)));
      return all;
    };
    await merchant.refund(order, '10.00');
    await merchant.credit(document, '1.00');
    const few = await counts();
    for (let at = 2; at <= 6; at++) {
      const { id: another } = await merchant.completed({ document });
      await merchant.refund({ id: another }, '10.00', { external_id: `DEV-${at}` });
      await merchant.credit(document, '1.00');
    }
    expect(await counts()).toEqual(few);
    // The names of all users of a page are one statement, and so are the credits that entries name. Credits have none.
    expect(few).toEqual([9, 11, 8]);
  });

  it('PUT /orders/{id} runs fewer SQL statements than a hold, and as many as a replaced hold when it lowers one', async () => {
    const order = anOrder();
    await merchant.credit(order.document, '80.00');
    const body = await merchant.create(order);
    const path = `/orders/${body.id}`;
    const amend = (total: string, redeem?: string): Promise<unknown> =>
      merchant.client.put(path, { ...order, total, payment_methods: [], redeem });
    const hold = (amount: string): Promise<unknown> => merchant.client.put(`${path}/redemption`, { amount });
    expect(await statements(() => amend('140.00'))).toBe(7);
    expect(await statements(() => hold('60.00'))).toBe(11);
    expect(await statements(() => amend('130.00'))).toBe(8);
    expect(await statements(() => amend('130.00'))).toBe(6);
    expect(await statements(() => hold('65.00'))).toBe(13);
    expect(await statements(() => amend('120.00', 'maximum'))).toBe(13);
  });

  it('PUT /orders/{id}/redemption with expires_at changes only the order unless it changes the amount', async () => {
    const order = anOrder();
    await merchant.credit(order.document, '80.00');
    const body = await merchant.create(order);
    const hold = (amount: string, minutes?: number): Promise<unknown> => {
      const expires_at = minutes && new Date(+service.clock.now() + minutes * 60_000).toISOString();
      return merchant.hold(body, amount, expires_at).answer;
    };
    await hold('20.00');
    expect(await statements(() => hold('30.00'))).toBe(13);
    expect(await statements(() => hold('30.00', 60))).toBe(8);
    expect(await statements(() => hold('40.00', 90))).toBe(13);
  });

  it('POST /orders/{id}/complete runs two more SQL statements with a hold than without, a cancellation fewer, and a first refund fewer than the next', async () => {
    const plain = await merchant.orderWith('80.00');
    const [holding, cancelled] = [await merchant.orderThatHolds('20.00'), await merchant.orderThatHolds('20.00')];
    expect(await statements(() => merchant.complete(plain))).toBe(10);
    expect(await statements(() => merchant.complete(holding))).toBe(12);
    expect(await statements(() => merchant.cancel(cancelled))).toBe(11);
    expect(await statements(() => merchant.refund(holding, '50.00'))).toBe(12);
    // It looks for an earlier refund with its ID.
    expect(await statements(() => merchant.refund(holding, '100.00'))).toBe(13);
  });

  it('what a refund has claimed of a hold is read with one SQL statement, and what else the customer has with another, only where a completion redeems it', async () => {
    const shop = await aMerchant(service, { releaseDays: 0 });
    const claimed = async (): Promise<Order> => {
      const sold = await shop.completed();
      const open = await shop.hold(await shop.create({ document: sold.document }), '7.50');
      await shop.refund(sold, '150.00');
      return open;
    };
    const [cancelled, completed] = [await claimed(), await claimed()];
    expect(await statements(() => shop.cancel(cancelled))).toBe(13);
    expect(await statements(() => shop.complete(completed))).toBe(14);
  });
});
