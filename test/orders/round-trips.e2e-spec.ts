import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aMerchant, anOrder, grant, type TestMerchant } from '../support/factories.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { type Service, startService, testEnvironment } from '../support/service.js';
import { rowsOf } from '../support/wallets.js';

let database: TestDatabase;
let service: Service;
let merchant: TestMerchant;

beforeAll(async () => {
  database = await createMigratedDatabase();
  service = await start();
  merchant = await aMerchant(service);
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

/** One connection, so that the session's own count is that of every request. */
const start = (env: Record<string, string> = {}): Promise<Service> =>
  startService({
    databaseUrl: database.url,
    env: { ...testEnvironment(database.url), DATABASE_POOL_SIZE: '1', ...env },
  });

/** How many statements the server has been sent on the one connection, this question not counted. */
async function questions(of: Service): Promise<number> {
  const [row] = await rowsOf(of, "SHOW SESSION STATUS LIKE 'Questions'");
  return Number(row.Value);
}

async function statementsOf(act: () => Promise<unknown>, of = service): Promise<number> {
  const before = await questions(of);
  await act();
  return (await questions(of)) - before - 1;
}

describe('round trips to the database, the look-up of the token among them', () => {
  it('are three for a new order, for one sent again, and for one that is refused, and once a second a fourth one that reads the policy', async () => {
    const counts: number[][] = [];
    for (let round = 0; round < 10; round++) {
      const order = anOrder();
      const requests = [order, order, { ...order, total: '151.00' }];
      counts.push([]);
      for (const body of requests) counts.at(-1)?.push(await statementsOf(() => merchant.client.post('/orders', body)));
    }
    expect(counts).toContainEqual([3, 3, 3]);
    expect(Math.max(...counts.flat())).toBeLessThanOrEqual(4);
  });

  it('are at most one more where the requests of a caller are counted in the database', async () => {
    const limited = await start({ RATE_LIMIT: '100' });
    try {
      const caller = await aMerchant(limited);
      const counts: number[] = [];
      for (let sent = 0; sent < 25; sent++)
        counts.push(await statementsOf(() => caller.client.post('/orders', anOrder()), limited));
      // The policy is read once a second.
      expect(Math.min(...counts)).toBe(3);
      expect(Math.max(...counts)).toBeLessThanOrEqual(5);
    } finally {
      await limited.stop();
    }
  });

  it('are two to read an order, whatever is held on it', async () => {
    const order = anOrder();
    await grant(service, merchant, order.document, '20.00');
    const { body } = await merchant.client.post('/orders', order);
    expect(await statementsOf(() => merchant.client.get(`/orders/${body.id}`))).toBe(2);
    await merchant.client.put(`/orders/${body.id}/redemption`, { amount: '20.00' });
    expect(await statementsOf(() => merchant.client.get(`/orders/${body.id}`))).toBe(2);
  });
});
