import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { WalletStore } from '../../src/cashback/wallet.store.js';
import { OrderStore } from '../../src/orders/order.store.js';
import { OrdersService } from '../../src/orders/orders.service.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant } from '../support/factories.js';
import { NaiveOrders, NaiveOrderStore, NaiveWalletStore } from '../support/races/naive.js';
import { orderRaces, sameOrder, sameRefund } from '../support/races/order-races.js';
import { naiveStage, type Race, Stage } from '../support/races/stage.js';
import { redemptions, walletRaces } from '../support/races/wallet-races.js';
import { startService } from '../support/service.js';

const ofWallets = [redemptions(200, 50), ...walletRaces];
const ofOrders = orderRaces.filter((race) => race !== sameOrder && race !== sameRefund);
const all = [...ofWallets, ...orderRaces];

/** The unique keys of refunds are a second guard that would turn the wrong result into an error or a deadlock. */
const WITHOUT_KEYS = [
  'ALTER TABLE refunds DROP FOREIGN KEY fk_refunds_order',
  'ALTER TABLE refunds DROP INDEX uq_refunds_order_external_id',
];
/** This one would turn it into an error. */
const WITHOUT_CHECK = ['ALTER TABLE wallets DROP CONSTRAINT ck_wallets_parts'];

/** Services without a guard, and the races that must fail in them. Otherwise these races would prove nothing. */
const UNSAFE: [service: string, races: Race[], naive: [Type, Type][], schema: string[]][] = [
  ['without the wallet lock', ofWallets, [[WalletStore, NaiveWalletStore]], WITHOUT_CHECK],
  ['without the order lock', ofOrders, [[OrderStore, NaiveOrderStore]], WITHOUT_KEYS],
  [
    'without both locks',
    [sameRefund],
    [
      [OrderStore, NaiveOrderStore],
      [WalletStore, NaiveWalletStore],
    ],
    WITHOUT_KEYS,
  ],
  ['in a service that reads before it inserts', [sameOrder], [[OrdersService, NaiveOrders]], []],
];
const FAILING = UNSAFE.flatMap(([service, races, ...rest]) =>
  races.map((race) => [service, race.title, race, ...rest] as const),
);

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

  it.each(FAILING)('%s, this race fails: %s', async (_service, _title, race, naive, schema) => {
    const stage = await naiveStage(
      (builder) => naive.reduce((to, [guarded, unsafe]) => to.overrideProvider(guarded).useClass(unsafe), builder),
      schema,
    );
    try {
      const outcome = await race.run(stage);
      race.expectUnfair(outcome);
      expect(() => race.expectFair(outcome)).toThrow();
    } finally {
      await stage.service.stop();
    }
  });
});
