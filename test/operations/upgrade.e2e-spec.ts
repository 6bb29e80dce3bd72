import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import { Client } from '../support/client.js';
import { createDatabase, migrate, type TestDatabase } from '../support/database.js';
import { DatabaseProxy } from '../support/database-proxy.js';
import { findingsOf } from '../support/expectations.js';
import { firstRelease, insertFirstReleaseRows, migrateFirstRelease } from '../support/first-release.js';
import { tablesWithoutKey } from '../support/schema.js';
import { type Service, startService } from '../support/service.js';

jest.setTimeout(120_000);

/** What the first release answered about the rows of `rows.sql`. */
const before = JSON.parse(firstRelease('answers.json')) as {
  login: { email: string; password: string };
  merchant_id: string;
  bodies: { id: string; body: { external_id: string; total: string } }[];
  orders: Record<string, any>;
  list: string[];
  by_status: Record<string, string[]>;
  wallets: Record<string, { wallet: any; entries: any[] }>;
};

let database: TestDatabase;
let service: Service;
let client: Client;

beforeAll(async () => {
  database = await createDatabase();
  await migrateFirstRelease(database.url);
  await insertFirstReleaseRows(database.url);
  await migrate(database.url);
  service = await startService({ databaseUrl: database.url });
  const { body } = await new Client(service).post('/auth/login', before.login);
  client = new Client(service, body.access_token);
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

/**
 * What an order keeps: an order that is not completed yet is quoted again each time it is read, under the current
 * rules.
 */
function lasting({ cashback, ...order }: any): any {
  if (cashback.to_receive.status !== 'quoted') return { ...order, cashback };
  const { amount: _amount, available_at: _from, expires_at: _until, ...quoted } = cashback.to_receive;
  return { ...order, cashback: { ...cashback, to_receive: quoted } };
}

describe('an upgrade from the first release', () => {
  it.each(Object.entries(before.orders))('order %s is read after the upgrade as before it', async (id, order) => {
    const { status, body } = await client.get(`/orders/${id}`);
    expect(status).toBe(200);
    expect(body).toMatchObject(lasting(order));
  });

  it('lists of orders, with and without a status, are the same after the upgrade', async () => {
    const ids = async (query: string): Promise<string[]> =>
      (await client.get(`/orders?limit=100${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await ids('')).toEqual(before.list);
    for (const [status, expected] of Object.entries(before.by_status)) {
      expect([status, await ids(`&status=${status}`)]).toEqual([status, expected]);
    }
  });

  it.each(Object.entries(before.wallets))(
    'the wallet and the statement of customer %s are the same after the upgrade',
    async (document, { wallet, entries }) => {
      expect((await client.post('/wallets/search', { document })).body).toMatchObject(wallet);
      const page = await client.get(`/wallets/${wallet.id}/entries?limit=100`);
      expect(page.body.data).toMatchObject(entries);
    },
  );

  it.each(before.bodies)('the request that created order $id replays after the upgrade', async ({ id, body }) => {
    const replayed = await client.post('/orders', body);
    expect([replayed.status, replayed.headers.get('idempotency-replayed'), replayed.body.id]).toEqual([
      201,
      'true',
      id,
    ]);
    const conflict = await client.post('/orders', { ...body, total: '999.99' });
    expect([conflict.status, conflict.body.code]).toEqual([409, 'external_id_conflict']);
  });

  it('every table has a primary key after the upgrade, which Group Replication requires', async () => {
    expect(await tablesWithoutKey(service.dataSource)).toEqual([]);
  });

  it('reconcile finds nothing in the rows of the first release', async () => {
    expect(await findingsOf(service)).toEqual([]);
  });

  it('every order of the first release can be finished after the upgrade', async () => {
    const [first, held] = before.by_status['pending']!.toReversed() as [string, string];
    const lapsed = before.by_status['expired']![0]!;
    const statuses = [
      await client.post(`/orders/${first}/cancel`),
      await client.post(`/orders/${held}/complete`, {}),
      await client.post(`/orders/${lapsed}/complete`, { redeem: '10.00' }),
      await client.post(`/orders/${held}/refunds`, { external_id: 'DEV-9', amount: '120.00' }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 201]);
    expect(await findingsOf(service)).toEqual([]);
  });
});

describe('an instance of an earlier release during the upgrade', () => {
  const ANOTHER_HOLD =
    'INSERT INTO cashback_holds (order_id, credit_id, wallet_id, amount_cents, expires_at) SELECT o.id, c.id, c.wallet_id, 1, o.expires_at FROM cashback_credits c JOIN orders o';

  it('rows that it writes while the migration fills in merchants get theirs, and later it can write none', async () => {
    const own = await createDatabase();
    await migrateFirstRelease(own.url);
    await insertFirstReleaseRows(own.url);
    const proxy = await DatabaseProxy.start(own.url);
    const earlier = await createDataSource(own.url).initialize();
    try {
      const filled = proxy.withhold((sql) => sql.startsWith('UPDATE cashback_holds SET merchant_id'));
      const migrated = migrate(proxy.url);
      const answer = await filled;
      const missing =
        'SELECT o.id FROM orders o LEFT JOIN cashback_holds h ON h.order_id = o.id WHERE h.order_id IS NULL';
      const [one, two] = await earlier.query<{ id: string }[]>(missing);
      await earlier.query(`${ANOTHER_HOLD} WHERE o.id = ? LIMIT 1`, [one?.id]);
      answer.release();
      await migrated;
      for (const [table, parent, key] of [
        ['cashback_credits', 'wallets', 'wallet_id'],
        ['cashback_holds', 'wallets', 'wallet_id'],
        ['cashback_entries', 'wallets', 'wallet_id'],
        ['refunds', 'orders', 'order_id'],
      ]) {
        const [counts] = await earlier.query<Record<string, unknown>[]>(
          `SELECT COUNT(*) > 0 AS found, SUM(t.merchant_id <> p.merchant_id) AS wrong FROM ${table} t JOIN ${parent} p ON p.id = t.${key}`,
        );
        expect({ table, found: Number(counts?.found), wrong: Number(counts?.wrong) }).toEqual({
          table,
          found: 1,
          wrong: 0,
        });
      }
      await expect(earlier.query(`${ANOTHER_HOLD} WHERE o.id = ? LIMIT 1`, [two?.id])).rejects.toThrow('merchant_id');
      await expect(earlier.query('UPDATE cashback_entries SET amount_cents = 1')).rejects.toThrow('append-only');
    } finally {
      await earlier.destroy();
      await proxy.stop();
      await own.drop();
    }
  });
});
