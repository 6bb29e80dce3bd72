import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WalletStore } from '../../src/cashback/wallet.store.js';
import { OrderStore } from '../../src/orders/order.store.js';
import { OrdersService } from '../../src/orders/orders.service.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant } from '../support/factories.js';
import { NaiveOrderStore } from '../support/naive/naive-order-store.js';
import { NaiveOrders } from '../support/naive/naive-orders.js';
import { NaiveWalletStore } from '../support/naive/naive-wallet-store.js';
import { orderRaces, sameOrder, sameRefund } from '../support/races/order-races.js';
import { naiveStage, type Race, Stage } from '../support/races/stage.js';
import { redemptions, walletRaces } from '../support/races/wallet-races.js';
import { startService } from '../support/service.js';

const ofWallets = [redemptions(200, 50), ...walletRaces] as Race<unknown>[];
const ofOrders = (orderRaces as Race<unknown>[]).filter((race) => race !== sameOrder && race !== sameRefund);
const all = [...ofWallets, ...orderRaces] as Race<unknown>[];

/** The unique keys of refunds are a second guard that would turn the wrong result into an error or a deadlock. */
const WITHOUT_KEYS = [
  'ALTER TABLE refunds DROP FOREIGN KEY fk_refunds_order',
  'ALTER TABLE refunds DROP INDEX uq_refunds_order_external_id',
];

describe('concurrent requests', () => {
  describe('concurrent requests to two processes that share a database', () => {
    let database: TestDatabase;
    let built: BuiltService[];
    let stage: Stage;
    beforeAll(async () => {
      database = await createMigratedDatabase();
      // Enough connections for requests to conflict in the database, whatever pool size the run sets.
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

    it.each(all)('two processes: $title', async (race) => {
      race.expectFair(await race.run(stage));
      stage.expectNoFailure();
      expect(await stage.discrepancies()).toEqual([]);
    });
  });

  // If an unsafe service also passes a race, the race proves nothing. Each race must fail without the guard that it
  // tests.
  describe('concurrent requests without the wallet lock', () => {
    it.each(ofWallets)('without the wallet lock, this race fails: $title', async (race) => {
      const stage = await naiveStage(
        (builder) => builder.overrideProvider(WalletStore).useClass(NaiveWalletStore),
        // A second guard, which would turn the wrong result into an error.
        ['ALTER TABLE wallets DROP CONSTRAINT ck_wallets_parts'],
      );
      await expectRaceToFail(race, stage);
    });
  });

  describe('concurrent requests without the order lock', () => {
    it.each(ofOrders)('without the order lock, this race fails: $title', async (race) => {
      const stage = await naiveStage(
        (builder) => builder.overrideProvider(OrderStore).useClass(NaiveOrderStore),
        WITHOUT_KEYS,
      );
      await expectRaceToFail(race, stage);
    });
  });

  describe('concurrent requests without both locks', () => {
    it(`without both locks, this race fails: ${sameRefund.title}`, async () => {
      const stage = await naiveStage(
        (builder) =>
          builder
            .overrideProvider(OrderStore)
            .useClass(NaiveOrderStore)
            .overrideProvider(WalletStore)
            .useClass(NaiveWalletStore),
        WITHOUT_KEYS,
      );
      await expectRaceToFail(sameRefund as Race<unknown>, stage);
    });
  });

  describe('concurrent requests to a service that reads before it inserts', () => {
    it(`in a service that reads before it inserts, this race fails: ${sameOrder.title}`, async () => {
      const stage = await naiveStage((builder) => builder.overrideProvider(OrdersService).useClass(NaiveOrders));
      await expectRaceToFail(sameOrder as Race<unknown>, stage);
    });
  });
});

async function expectRaceToFail(race: Race<unknown>, stage: Stage): Promise<void> {
  try {
    const outcome = await race.run(stage);
    race.expectUnfair(outcome);
    expect(() => race.expectFair(outcome)).toThrow();
  } finally {
    await stage.service.stop();
  }
}
