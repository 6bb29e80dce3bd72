import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import mysql from 'mysql2/promise';
import { Client } from '../support/client.js';
import { createDatabase, migrate, type TestDatabase } from '../support/database.js';
import { findingsOf } from '../support/expectations.js';
import { migrateFirstRelease } from '../support/first-release.js';
import { tablesWithoutKey } from '../support/schema.js';
import { type Service, startService } from '../support/service.js';

jest.setTimeout(120_000);

const recorded = (file: string): string => readFileSync(`test/support/first-release/${file}`, 'utf8');
const ANSWERS = recorded('answers.json');
const AGE_MS = Date.now() - Date.parse((JSON.parse(ANSWERS) as { recorded_at: string }).recorded_at);

/** Moves every instant of a text to where it would be if the recording had been made now. */
const moved = (text: string): string =>
  text.replace(
    /(\d{4}-\d\d-\d\d)([ T])(\d\d:\d\d:\d\d\.\d{3})/g,
    (_all, day: string, separator: string, time: string) =>
      new Date(Date.parse(`${day}T${time}Z`) + AGE_MS).toISOString().slice(0, -1).replace('T', separator),
  );

/** What the first release answered about the rows of `rows.sql`. */
const before = JSON.parse(moved(ANSWERS)) as {
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
  await insertRows(database.url);
  await migrate(database.url);
  service = await startService({ databaseUrl: database.url });
  const { body } = await new Client(service).post('/auth/login', before.login);
  client = new Client(service, body.access_token);
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

async function insertRows(url: string): Promise<void> {
  const connection = await mysql.createConnection({ uri: url.replace(/^mariadb:/, 'mysql:') });
  for (const statement of moved(recorded('rows.sql')).trim().split('\n')) await connection.query(statement);
  await connection.end();
}

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
