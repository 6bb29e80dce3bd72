import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant, anOrder } from '../support/factories.js';
import { startService } from '../support/service.js';

const STRANGERS = 60;
const ORDERS = 10;

/** Clients that send a request without a valid token again as soon as they have the response. */
class Storm {
  answered = 0;
  readonly statuses = new Set<number | undefined>();
  #isOver = false;
  readonly #clients: Promise<void>[];

  constructor(url: string, path: string) {
    this.#clients = Array.from({ length: STRANGERS }, () => this.#send(`${url}${path}`));
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #send(url: string): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!this.#isOver) {
      const request = get(url, { agent, headers: { authorization: `Bearer cbat_${randomUUID()}` } });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      await once(response.resume(), 'end');
      this.statuses.add(response.statusCode);
      this.answered += 1;
    }
    agent.destroy();
  }
}

describe('a storm of requests without a valid token', () => {
  let database: TestDatabase;
  let built: BuiltService;
  let client: Client;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    const service = await startService({ databaseUrl: database.url });
    const { tokens } = await aMerchant(service);
    await service.stop();
    built = await startBuiltService(database.url);
    client = new Client(built, tokens.access_token);
    for (let count = 0; count < 50; count++) await client.post('/orders', anOrder());
  });
  afterAll(async () => {
    await built?.stop();
    await database?.drop();
  });

  it.each([
    ['made-up tokens', '/orders', 401],
    ['paths that do not exist', '/nothing', 404],
  ])('a merchant creates orders while %s come in without end', async (_of, path, status) => {
    const storm = new Storm(built.url, path);
    while (storm.answered < 10 * STRANGERS) await client.get('/health/live');
    const before = storm.answered;
    for (let count = 0; count < ORDERS; count++) expect((await client.post('/orders', anOrder())).status).toBe(201);
    const perOrder = (storm.answered - before) / ORDERS;
    await storm.end();
    expect([...storm.statuses]).toEqual([status]);
    // Without turns, every stranger gets several responses before the merchant has one.
    console.log(`${perOrder} responses to strangers for each order`);
    expect(perOrder).toBeLessThan(STRANGERS);
  });
});
