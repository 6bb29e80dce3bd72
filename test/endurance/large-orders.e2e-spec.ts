import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { anOrder, PASSWORD } from '../support/factories.js';
import { seedMerchant } from '../support/seed.js';
import type { Order, Page, Tokens } from '../support/shop.js';

const ORDERS = 100;
const CONNECTIONS = 12;
const PAGES_PER_CONNECTION = 10;

let database: TestDatabase;
let service: BuiltService;

beforeAll(async () => {
  database = await createMigratedDatabase();
  service = await startBuiltService(database.url, { NODE_OPTIONS: '--max-old-space-size=256', RATE_LIMIT: '0' });
});
afterAll(async () => {
  await service?.stop();
  await database?.drop();
});

async function logIn(): Promise<Client> {
  const email = await seedMerchant(createDataSource(database.url));
  const { body } = await new Client(service).post<Tokens>('/auth/login', { email, password: PASSWORD });
  return new Client(service, body.access_token);
}

/** An order of about 250 KiB, which is close to the limit of a request body. */
const aLargeOrder = (): object =>
  anOrder({
    items: Array.from({ length: 470 }, (_, n) => ({ id: `sku-${n}`, price: '1.00', description: 'x'.repeat(480) })),
  });

/** Fails unless the response has that status. */
async function expectStatus<T>(status: number, answered: Promise<Answer<T>>): Promise<Answer<T>> {
  const answer = await answered;
  if (answer.status !== status) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** The peak memory of the process in MiB, as reported by Linux. */
function peakMiB(): number {
  const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s*(\d+)/m.exec(status)?.[1]) / 1024;
}

describe('100 orders of 250 KiB', () => {
  it('12 connections can list 100 orders of 250 KiB with a heap of 256 MiB while another merchant creates orders', async () => {
    const [merchant, other] = [await logIn(), await logIn()];
    for (let created = 0; created < ORDERS; created++) {
      await expectStatus(201, merchant.post('/orders', aLargeOrder()));
    }

    let isListing = true;
    const listing = atOnce(CONNECTIONS, async () => {
      for (let page = 0, cursor = ''; page < PAGES_PER_CONNECTION; page++) {
        const { body } = await expectStatus(200, merchant.get<Page<Order>>(`/orders?limit=100${cursor}`));
        cursor = body.next_cursor ? `&cursor=${body.next_cursor}` : '';
      }
    }).finally(() => (isListing = false));
    while (isListing) {
      await expectStatus(201, other.post('/orders', anOrder()));
    }
    await listing;
    expect(service.process.exitCode).toBeNull();
    expect(process.platform === 'linux' ? peakMiB() : 0).toBeLessThan(400);
  });
});
