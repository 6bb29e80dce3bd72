import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { atOnce, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { anOrder, PASSWORD } from '../support/factories.js';
import { seedMerchant } from '../support/seed.js';

describe('several workers on one port', () => {
  let database: TestDatabase;
  let service: BuiltService;
  let client: Client;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    service = await startBuiltService(database.url, { WORKERS: '2' });
    const email = await seedMerchant(createDataSource(database.url));
    const { body } = await new Client(service).post('/auth/login', { email, password: PASSWORD });
    client = new Client(service, body.access_token);
  });
  afterAll(() => database.drop());

  /** The processes that the supervisor has started. */
  function workerPids(): number[] {
    const { pid } = service.process;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  }

  it('behave as one: an order that many send at once is created once', async () => {
    expect(workerPids()).toHaveLength(2);
    const order = anOrder();
    const answers = await atOnce(30, () => client.post('/orders', order));
    expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(201));
    expect(answers.filter(({ headers }) => !headers.has('idempotency-replayed'))).toHaveLength(1);
  });

  it('add their metrics up, whichever of them is asked', async () => {
    const counts = await atOnce(6, async () => {
      const { body } = await client.get('/metrics', { headers: { connection: 'close' } });
      return /^orders_total\{event="replayed"\} (\d+)$/m.exec(body as string)?.[1];
    });
    expect(counts).toEqual(Array(6).fill('29'));
  });

  it('are replaced when one dies, and go on serving meanwhile', async () => {
    const [victim = 0] = workerPids();
    process.kill(victim, 'SIGKILL');
    for (let attempt = 0; attempt < 100 && (workerPids().length < 2 || workerPids().includes(victim)); attempt++)
      await sleep(100);
    expect(workerPids()).toHaveLength(2);
    expect((await client.post('/orders', anOrder(), { headers: { connection: 'close' } })).status).toBe(201);
  });

  it('end in good order with the one that watches over them', async () => {
    const pids = workerPids();
    expect(await service.stop()).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});
