import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HOUR_MS } from '../../src/platform/values/time.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { atOnce } from '../support/client.js';
import { TestClock } from '../support/clock.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import type { Order } from '../support/shop.js';
import { rowsOf } from '../support/wallets.js';

const ORDERS = 1500;
const CUSTOMERS = 5;
/** The orders that an operation ends while the sweeps run. */
const OPERATED = 200;

describe('a sweep that is killed', () => {
  let database: TestDatabase;
  /** An instance inside the test process, at first an hour behind. It does not sweep. */
  let observer: Service;
  let merchant: TestMerchant;
  const running = new Set<BuiltService>();

  beforeAll(async () => {
    database = await createMigratedDatabase();
    const clock = new TestClock();
    clock.skip(-HOUR_MS);
    const env = { LOG_LEVEL: 'error', ACCESS_TOKEN_TTL_SECONDS: '86400' };
    observer = await startService({ databaseUrl: database.url, clock, env });
    merchant = await aMerchant(observer, { redeemShareBps: 10_000 });
  });
  afterAll(async () => {
    for (const service of running) await service.kill();
    await observer.stop();
    await database.drop();
  });

  async function start(): Promise<BuiltService> {
    const service = await startBuiltService(database.url, { LOG_LEVEL: 'error' });
    running.add(service);
    return service;
  }

  async function kill(service: BuiltService): Promise<void> {
    await service.kill();
    running.delete(service);
  }

  const due = async (): Promise<number> =>
    Number((await rowsOf(observer, "SELECT COUNT(*) AS orders FROM orders WHERE status = 'pending'"))[0]!.orders);

  it(`${ORDERS} orders that are due expire once, whatever is killed, raced by operations and by a second instance`, async () => {
    const documents = Array.from({ length: CUSTOMERS }, aDocument);
    for (const document of documents) await merchant.credit(document, String(ORDERS / CUSTOMERS));
    const orders: Order[] = [];
    const holding = async (document: string): Promise<Order> =>
      merchant.hold(await merchant.create({ document }), '1.00');
    while (orders.length < ORDERS) orders.push(...(await atOnce(CUSTOMERS, (at) => holding(documents[at]!))));
    observer.clock.skip(HOUR_MS);
    const operated = atOnce(OPERATED, async (at) => {
      await sleep(randomInt(4000));
      const path = `/orders/${orders[at * 7]!.id}`;
      return at % 2 === 0
        ? merchant.client.post(`${path}/complete`, { redeem: '1.00' })
        : merchant.client.post(`${path}/cancel`);
    });
    let kills = 0;
    for (; (await due()) > 0 && kills < 40; kills += 2) {
      const pair = await Promise.all([start(), start()]);
      await sleep(randomInt(150));
      await Promise.all(pair.map(kill));
      await expectInvariants(observer);
    }
    const answers = await operated;
    // Until the sweep has released what the others hold, there may be too little to redeem.
    const refused = answers.filter(({ status }) => status !== 200);
    expect(new Set(refused.map(({ body }) => body.code))).toEqual(
      new Set(refused.length > 0 ? ['redemption_no_longer_available'] : []),
    );
    const last = await start();
    for (let wait = 0; (await due()) > 0 && wait < 300; wait++) await sleep(100);
    await kill(last);
    expect(await due()).toBe(0);
    const redeemed = answers.filter(({ body }) => String(body.status) === 'completed').length;
    const [sums] = await rowsOf(
      observer,
      `SELECT (SELECT COUNT(*) FROM cashback_entries WHERE kind = 'redeem') AS redemptions, (SELECT COUNT(*) FROM cashback_holds) AS holds`,
    );
    expect([sums!.redemptions, sums!.holds].map(Number)).toEqual([redeemed, 0]);
    const wallets = await Promise.all(documents.map((document) => merchant.wallet(document)));
    const available = wallets.reduce((sum, wallet) => sum + Number(wallet.available), 0);
    expect({ available, held: wallets.map(({ held }) => held) }).toEqual({
      available: ORDERS - redeemed,
      held: Array(CUSTOMERS).fill('0.00'),
    });
    await expectInvariants(observer);
    process.stdout.write(
      `${kills} kills of sweeps: ${ORDERS} orders, ${OPERATED - refused.length} ended by operations\n`,
    );
    // Sweeps that were never interrupted would prove nothing.
    expect(kills).toBeGreaterThan(3);
  });
});
