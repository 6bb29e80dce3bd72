import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { AdminCommandLine } from '../support/admin.js';
import { Client } from '../support/client.js';
import { createDatabase, createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { dump, findDumpPrograms, restore } from '../support/dump.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { catchUp } from '../support/load/catch-up.js';
import { duringLoads, untilAnsweredAgain } from '../support/load/pauses.js';
import { Workload } from '../support/load/workload.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';
import type { Order, Page, Refund, Tokens } from '../support/shop.js';

const MERCHANTS = 3;
/** Of each merchant. Requests of one customer wait for each other. */
const WORKERS = 3;
const CUSTOMERS = 6;
const GRANTED = '100000.00';
const ENV = { LOG_LEVEL: 'error' };

/** What a merchant's system remembers: its requests with their answers. */
interface Shop {
  merchant: TestMerchant;
  documents: string[];
  load: Workload;
}

const programs = await findDumpPrograms();

describeIf(programs, 'Backup and restore, because the programs that dump the server are missing')(
  'a database that is restored from a dump',
  () => {
    let [database, restored]: TestDatabase[] = [];
    let [original, service]: Service[] = [];
    let shops: Shop[];
    /** The token set of the first merchant after a refresh that the dump does not have. */
    let refreshed: TestMerchant['tokens'];
    /** The status of each order in the dump by its ID. */
    let inDump: Map<string, string>;
    const folder = makeTempFolder('cashback-dump');
    const file = path.join(folder, 'dump.sql');

    beforeAll(async () => {
      database = await createMigratedDatabase();
      original = await startService({ databaseUrl: database.url, env: ENV });
      shops = [];
      for (let n = 0; n < MERCHANTS; n++) shops.push(await aShop(original, `S${n}`));
      await dumpUnderLoad();
      refreshed = (await refresh(original, shops[0]!.merchant.tokens)).body;

      restored = await createDatabase();
      await restore(programs!, restored.url, file);
      service = await startService({ databaseUrl: restored.url, env: ENV });
      inDump = new Map((await ordersOf(service)).map(({ id, status }) => [id, status]));
    });
    afterAll(async () => {
      await service?.stop();
      await original?.stop();
      await restored?.drop();
      await database?.drop();
      rmSync(folder, { recursive: true, force: true });
    });

    /** Requests go on before, during and after the dump. All of them are answered in the end. */
    async function dumpUnderLoad(): Promise<void> {
      const loads = shops.map(({ load }) => load);
      const work = (isOver: () => boolean): Promise<void>[] =>
        loads.map((load) => load.work(original!.url, WORKERS, isOver));
      await duringLoads(work, async () => {
        await untilAnsweredAgain(loads, 40);
        await dump(programs!, database!.url, file);
        await untilAnsweredAgain(loads, 40);
      });
      for (const load of loads) {
        await load.finish(original!.url);
        expect(load.unexpected).toEqual([]);
      }
    }

    it('a dump that was made during requests has each of them entirely or not at all: reconcile finds nothing', async () => {
      const { code, stdout } = await new AdminCommandLine(service!).run('reconcile');
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"findings":0') });
      const lost = (await ordersOf(original!)).filter(({ id }) => !inDump.has(id));
      const changed = (await ordersOf(original!)).filter(
        ({ id, status }) => inDump.has(id) && inDump.get(id) !== status,
      );
      process.stdout.write(
        `a dump under load: it has ${inDump.size} orders; ${changed.length} of them changed later, and ${lost.length} are newer\n`,
      );
      // Otherwise the next tests would prove nothing.
      for (const { length } of [lost, changed]) expect(length).toBeGreaterThan(0);
    });

    it('a token set that was issued after the dump is unknown, and those that the dump has are valid again', async () => {
      expectProblem(await new Client(service!, refreshed.access_token).get('/orders'), 401, 'invalid_token');
      expectProblem(await refresh(service!, refreshed), 401, 'invalid_refresh_token');
      const { merchant } = shops[0]!;
      expect((await new Client(service!, merchant.tokens.access_token).get('/orders')).status).toBe(200);
      expect((await refresh(service!, merchant.tokens)).status).toBe(201);
      const { email, password } = merchant;
      expect((await new Client(service!).post<Tokens>('/auth/login', { email, password })).status).toBe(201);
    });

    it('merchants that send all their requests again, twice at once, end with the orders and balances they had', async () => {
      const twice = [...shops, ...shops].map(({ merchant, load }) =>
        catchUp(service!.url, merchant.tokens.access_token, load),
      );
      expect((await Promise.all(twice)).flat()).toEqual([]);
      for (const shop of shops) {
        expect(await stateOf(service!, shop)).toEqual(await stateOf(original!, shop));
        for (const { orderId, intents } of shop.load.sales) {
          const { external_id } = intents[0]!.body as { external_id: string };
          const { body } = await clientOf(service!, shop).get(`/orders/by-external-id/${external_id}`);
          expect(body.id === orderId).toBe(inDump.has(orderId!));
        }
      }
      expect((await new AdminCommandLine(service!).run('reconcile')).code).toBe(0);
    });
  },
);

async function aShop(service: Service, name: string): Promise<Shop> {
  const merchant = await aMerchant(service);
  const documents = Array.from({ length: CUSTOMERS }, aDocument);
  for (const document of documents) await merchant.credit(document, GRANTED);
  return { merchant, documents, load: new Workload(merchant.tokens.access_token, name, documents) };
}

const ordersOf = (service: Service): Promise<{ id: string; status: string }[]> =>
  service.dataSource.query('SELECT id, status FROM orders');

const clientOf = (service: Service, { merchant }: Shop): Client => new Client(service, merchant.tokens.access_token);

const refresh = (service: Service, { refresh_token }: TestMerchant['tokens']) =>
  new Client(service).post<Tokens>('/auth/refresh', { refresh_token });

/** The orders and balances of a merchant, without the IDs and instants that a repeated request may change. */
async function stateOf(service: Service, shop: Shop): Promise<unknown> {
  const client = clientOf(service, shop);
  const orders = [];
  for (const { intents } of shop.load.sales) {
    const { external_id } = intents[0]!.body as { external_id: string };
    const { body } = await client.get<Order>(`/orders/by-external-id/${external_id}`);
    const { to_redeem, to_receive } = body.cashback;
    const refunds = (await client.get<Page<Refund>>(`/orders/${body.id}/refunds`)).body.data.map(
      ({ amount }) => amount,
    );
    const { amount, taken_back, status } = to_receive;
    orders.push({
      external_id,
      status: body.status,
      total: body.total,
      to_redeem,
      amount,
      taken_back,
      received: status,
      refunds,
    });
  }
  const balances = [];
  for (const document of shop.documents) {
    const { available, pending, held, debt } = (await client.post('/wallets/search', { document })).body;
    balances.push({ available, pending, held, debt });
  }
  return { orders, balances };
}
