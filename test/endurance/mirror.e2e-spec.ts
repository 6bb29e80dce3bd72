import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectComplete } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { MirroredShop } from '../support/mirror/shop.js';
import { type Service, startService } from '../support/service.js';
import { rowsOf } from '../support/wallets.js';

const SCALE = Number(process.env.ENDURANCE_SECONDS ?? 60) / 60;
/** Each has a feed and an endpoint, whose events are sent one after another: many are as fast as the machine. */
const SHOPS = 20;
const ORDERS_OF_EACH = Math.ceil(500 * SCALE);
const WORKERS_OF_EACH = 2;
const KILLS = Math.ceil(10 * SCALE);

const TYPES = [
  ...[
    'created',
    'amended',
    'redemption_held',
    'redemption_released',
    'renewed',
    'expired',
    'completed',
    'cancelled',
    'refunded',
    'customer_changed',
  ].map((name) => `order.${name}`),
  ...['cashback.granted', 'cashback.voided', 'cashback.expired', 'wallet.debt_changed'],
];

describe('shops that copy their orders and wallets from webhooks and the feed', () => {
  let database: TestDatabase;
  /** An instance inside the test process. It does not sweep, and sends nothing. */
  let observer: Service;
  const instances: BuiltService[] = [];
  const shops: MirroredShop[] = [];
  /** Everything is sold and sent, or the test has failed. */
  let isOver = false;
  const aUrl = (): string => instances[randomInt(instances.length || 1)]?.url ?? 'http://127.0.0.1:1';

  const start = async (): Promise<void> =>
    void instances.push(await startBuiltService(database.url, { LOG_LEVEL: 'fatal' }));

  beforeAll(async () => {
    database = await createMigratedDatabase();
    observer = await startService({ databaseUrl: database.url, env: { LOG_LEVEL: 'silent' } });
    await Promise.all([start(), start()]);
    for (let nth = 0; nth < SHOPS; nth++) {
      const merchant = await aLongLivedMerchant(observer, { redeemShareBps: 10_000, releaseDays: nth % 2 });
      const shop = new MirroredShop(merchant, aUrl);
      await shop.open();
      shops.push(shop);
      for (const document of shop.traffic.documents)
        await merchant.credit(document, '5.00', { expiresAt: new Date(Date.now() + randomInt(60_000)) });
    }
  });
  afterAll(async () => {
    isOver = true;
    for (const shop of shops) await shop.close();
    for (const instance of instances) await instance.kill();
    await observer?.stop();
    await database?.drop();
  });

  /** The clocks of what waits run faster: pauses after failures end at once. */
  async function hurry(): Promise<void> {
    while (!isOver) {
      await rowsOf(
        observer,
        'UPDATE webhook_endpoints SET next_attempt_at = UTC_TIMESTAMP(3) WHERE failures > 0 AND next_attempt_at > UTC_TIMESTAMP(3)',
      );
      await sleep(50);
    }
  }

  /** Kills one instance, at times both, and starts as many again. Leases of instances that are gone end at once. */
  async function kill(nth: number): Promise<void> {
    const victims = nth % 4 === 0 ? instances.splice(0) : instances.splice(randomInt(2), 1);
    await Promise.all(victims.map((victim) => victim.kill()));
    await rowsOf(observer, 'UPDATE webhook_endpoints SET leased_until = UTC_TIMESTAMP(3)');
    await Promise.all(victims.map(() => start()));
  }

  /** Kills instances while orders are made; the last time when only what has expired is left. */
  async function killAtIntervals(): Promise<void> {
    const begun = (): number => shops.reduce((sum, { traffic }) => sum + traffic.begun, 0);
    for (let nth = 1; nth <= KILLS; nth++) {
      while (!isOver && begun() < (SHOPS * ORDERS_OF_EACH * nth) / KILLS) await sleep(20);
      if (!isOver) await kill(nth);
    }
  }

  /** Waits until nothing waits any more: no order to expire, no event for its number, none to be sent. */
  async function settled(): Promise<void> {
    while (!isOver) {
      const [row] = await rowsOf(
        observer,
        `SELECT (SELECT COUNT(*) FROM event_outbox) + (SELECT COUNT(*) FROM orders WHERE status = 'pending' AND expires_at < UTC_TIMESTAMP(3))
              + (SELECT SUM(f.last_sequence - e.cursor) FROM webhook_endpoints e JOIN event_feeds f USING (merchant_id)) AS waiting`,
      );
      if (Number(row!.waiting) === 0) return;
      await sleep(200);
    }
  }

  it(
    `after ${SHOPS * ORDERS_OF_EACH} orders, ${KILLS} kills and a network that fails in a third of the cases, each copy is what the API shows`,
    async () => {
      const startedAt = Date.now();
      const hurried = hurry();
      const killed = killAtIntervals();
      await Promise.all(shops.map((shop) => shop.trade(ORDERS_OF_EACH, WORKERS_OF_EACH)));
      const soldAt = Date.now();
      await killed;
      await settled();
      isOver = true;
      await hurried;
      const settledAt = Date.now();

      const sum = (of: (shop: MirroredShop) => number): number => shops.reduce((total, shop) => total + of(shop), 0);
      const events = shops.flatMap(({ mirror }) => mirror.events);
      const repeats = sum(({ network }) => network.repeats);
      const counts: Record<string, number> = {};
      for (const { network } of shops)
        for (const [name, times] of Object.entries(network.counts)) counts[name] = (counts[name] ?? 0) + times;
      process.stdout.write(
        `${sum(({ traffic }) => traffic.orders.length)} orders by ${sum(({ traffic }) => traffic.requests)} requests, ` +
          `${events.length} events (${sum(({ read }) => read)} of them from the feed), ${JSON.stringify(counts)}, ` +
          `${repeats} repeats of accepted events; sold in ${soldAt - startedAt} ms, ` +
          `delivered in ${settledAt - startedAt} ms\n`,
      );

      for (const shop of shops) {
        expect(shop.traffic.unexpected).toEqual([]);
        expect(shop.network.overtakers).toEqual([]);
        expectComplete(shop.mirror.events);
        expect(await shop.differences()).toEqual([]);
      }
      const [row] = await rowsOf(observer, 'SELECT COUNT(*) AS count FROM events');
      expect(events).toHaveLength(Number(row!.count));
      expect(new Set(events.map(({ type }) => type))).toEqual(new Set(TYPES));
      await expectInvariants(observer);
      // Only a kill can lose that an event was accepted.
      expect(repeats).toBeLessThanOrEqual(KILLS * SHOPS);
    },
    20 * 60_000 * Math.max(1, SCALE),
  );
});
