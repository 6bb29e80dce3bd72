import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WalletsService } from '../../src/cashback/wallets.service.js';
import { OrderLock } from '../../src/orders/order-lock.js';
import { OrdersService } from '../../src/orders/orders.service.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant } from '../support/factories.js';
import { NaiveOrderLock } from '../support/naive/naive-order-lock.js';
import { NaiveOrders } from '../support/naive/naive-orders.js';
import { NaiveWallets } from '../support/naive/naive-wallets.js';
import { orderRaces, sameOrder } from '../support/races/order-races.js';
import { naiveStage, type Race, Stage } from '../support/races/stage.js';
import { redemptions, walletRaces } from '../support/races/wallet-races.js';
import { startService } from '../support/service.js';

const ofWallets = [redemptions(200, 50), ...walletRaces] as Race<unknown>[];
const ofOrders = (orderRaces as Race<unknown>[]).filter((race) => race !== sameOrder);
const all = [...ofWallets, ...orderRaces] as Race<unknown>[];

describe('concurrent requests', () => {
  describe('to two processes over one database', () => {
    let database: TestDatabase;
    let built: BuiltService[];
    let stage: Stage;
    beforeAll(async () => {
      database = await createMigratedDatabase();
      // So many that requests meet in the database, whatever the run's pool is.
      const env = { LOG_LEVEL: 'error', DATABASE_POOL_SIZE: '10' };
      built = await Promise.all([startBuiltService(database.url, env), startBuiltService(database.url, env)]);
      const service = await startService({ databaseUrl: database.url, env: { LOG_LEVEL: 'error' } });
      const merchant = await aMerchant(service);
      stage = new Stage(
        service,
        merchant,
        built.map((process) => new Client(process, merchant.tokens.access_token)),
      );
    });
    afterAll(async () => {
      await Promise.all(built.map((process) => process.stop()));
      await stage.service.stop();
      await database.drop();
    });

    it.each(all)('$title', async (race) => {
      race.expectFair(await race.run(stage));
      stage.expectNoFailure();
      expect(await stage.discrepancies()).toEqual([]);
    });
  });

  // A race that a careless service wins too would say nothing: each is lost by one that leaves out its guard.
  describe('to a service without the lock of the wallet', () => {
    it.each(ofWallets)('$title: not any more', async (race) => {
      const stage = await naiveStage((builder) => builder.overrideProvider(WalletsService).useClass(NaiveWallets));
      await expectBite(race, stage);
    });
  });

  describe('to a service without the lock of the order', () => {
    // The keys of refunds are a second guard: they turn what would go wrong into a failure or a deadlock.
    const withoutKeys = [
      'ALTER TABLE refunds DROP FOREIGN KEY fk_refunds_order',
      'ALTER TABLE refunds DROP INDEX uq_refunds_order_external_id',
    ];

    it.each(ofOrders)('$title: not any more', async (race) => {
      const stage = await naiveStage(
        (builder) => builder.overrideProvider(OrderLock).useValue(new NaiveOrderLock()),
        withoutKeys,
      );
      await expectBite(race, stage);
    });
  });

  describe('to a service that looks before it inserts', () => {
    it(`${sameOrder.title}: not any more`, async () => {
      const stage = await naiveStage((builder) => builder.overrideProvider(OrdersService).useClass(NaiveOrders));
      await expectBite(sameOrder as Race<unknown>, stage);
    });
  });
});

async function expectBite(race: Race<unknown>, stage: Stage): Promise<void> {
  try {
    const outcome = await race.run(stage);
    race.expectUnfair(outcome);
    expect(() => race.expectFair(outcome)).toThrow();
  } finally {
    await stage.service.stop();
  }
}
