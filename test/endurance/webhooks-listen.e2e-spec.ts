import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EMAIL, PASSWORD, seedDemo, welcome } from '../../tools/demo.mjs';
import { type Guarded, startGuarded } from '../../tools/support/guarded-process.mjs';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { type BuiltService, freePort, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { anOrder } from '../support/factories.js';
import { testEnvironment } from '../support/service.js';
import type { Tokens, Endpoint, EndpointWithSecret, FeedEvent } from '../support/shop.js';

describe('npm run webhooks:listen', () => {
  let database: TestDatabase;
  let service: BuiltService;
  let client: Client;
  let folder: string;
  let listeners = 0;
  const started: Guarded[] = [];

  beforeAll(async () => {
    folder = makeTempFolder('cashback-listen');
    database = await createMigratedDatabase();
    await seedDemo({ ...process.env, ...testEnvironment(database.url) });
    service = await startBuiltService(database.url);
    const login = await new Client(service).post<Tokens>('/auth/login', { email: EMAIL, password: PASSWORD });
    client = new Client(service, login.body.access_token);
  });
  afterAll(async () => {
    for (const listener of started) await listener.end(5000);
    await service?.stop();
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts the listener. `until` waits until it has printed a text, and returns all that it has printed. */
  const listen = (base: string, ...args: string[]) => listenAs({}, base, ...args);

  async function listenAs(login: Record<string, string>, base: string, ...args: string[]) {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
    const file = path.join(folder, `output-${++listeners}`);
    const [, program = ''] = scripts['webhooks:listen']!.split(' ');
    const env = { PATH: process.env.PATH, BASE: base, ...login };
    const listener = await startGuarded({
      command: process.execPath,
      args: [program, ...args],
      env,
      output: { file },
    });
    started.push(listener);
    const printed = (): string => readFileSync(file, 'utf8');
    const until = async (text: string): Promise<string> => {
      for (let attempt = 0; attempt < 2000 && !printed().includes(text) && !listener.hasExited(); attempt++)
        await sleep(50);
      return printed();
    };
    return { ...listener, printed, until };
  }

  async function urls(): Promise<string[]> {
    return (await client.get<{ data: Endpoint[] }>('/webhook-endpoints')).body.data.map(
      ({ url }: { url: string }) => url,
    );
  }

  async function complete(): Promise<string> {
    const order = anOrder({ total: '150.00' });
    const { body } = await client.post('/orders', order);
    expect((await client.post(`/orders/${body.id}/complete`, {})).status).toBe(200);
    return order.external_id;
  }

  it('npm run webhooks:listen prints one line per event, and deletes its endpoint and those of killed listeners', async () => {
    const demo = await urls();
    // A shop's own endpoint has the same address with another path.
    const own = `http://127.0.0.1:${await freePort()}/webhooks`;
    await client.post<EndpointWithSecret>('/webhook-endpoints', { url: own });
    const killed = await listen(service.url);
    await killed.until('Waiting for');
    await killed.kill();
    expect(await urls()).toHaveLength(demo.length + 2);

    const listener = await listen(service.url);
    await listener.until('Waiting for');
    const listening = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/webhooks-listen$/) as unknown;
    expect(await urls()).toEqual([...demo, own, listening]);
    const externalId = await complete();
    const line = new RegExp(
      `^\\d{4}(?:-\\d\\d){2} \\d\\d:\\d\\d:\\d\\d +\\d+  order\\.completed +${externalId} completed version 2 total 150\\.00 ` +
        'to receive 7\\.50 \\| available [\\d.]+ pending 7\\.50$',
      'm',
    );
    expect(await listener.until(`order.completed           ${externalId}`)).toMatch(line);
    await listener.end(10_000);
    expect(await listener.exited).toBe(0);
    expect(await urls()).toEqual([...demo, own]);
  });

  it('npm run webhooks:listen leaves the endpoint of another listener that still runs', async () => {
    const first = await listen(service.url);
    await first.until('Waiting for');
    const before = await urls();
    const second = await listen(service.url);
    await second.until('Waiting for');
    expect(await urls()).toEqual([...before, expect.stringContaining('/webhooks-listen')]);
    await second.end(10_000);
    await first.end(10_000);
  });

  it('npm run webhooks:listen -- --json prints each event as GET /events/{id} returns it', async () => {
    const listener = await listen(service.url, '--json');
    await listener.until('Waiting for');
    const externalId = await complete();
    const printed = await listener.until('"order.completed"');
    const event = JSON.parse(printed.slice(printed.lastIndexOf('\n{'))) as FeedEvent;
    expect(event.data.order!.external_id).toBe(externalId);
    expect(event).toEqual((await client.get<FeedEvent>(`/events/${event.id}`)).body);
    await listener.end(10_000);
  });

  it('npm run webhooks:listen -- --batch 5 prints how many events a batch has, and one line per event', async () => {
    const listener = await listen(service.url, '--batch', '5');
    await listener.until('Waiting for');
    const externalId = await complete();
    const printed = await listener.until(`order.completed           ${externalId}`);
    expect(printed).toMatch(/^A batch of [1-5]:$/m);
    expect(printed).toMatch(
      new RegExp(`^\\d{4}(?:-\\d\\d){2} \\d\\d:\\d\\d:\\d\\d +\\d+ +order\\.completed +${externalId} completed`, 'm'),
    );
    await listener.end(10_000);
  });

  it('npm run webhooks:listen refuses a request without a valid signature and does not print it as an event', async () => {
    const listener = await listen(service.url);
    await listener.until('Waiting for');
    const url = (await urls()).find((one) => one.endsWith('/webhooks-listen'))!;
    const response = await fetch(url, { method: 'POST', body: '{"type":"order.completed"}' });
    expect(response.status).toBe(400);
    const printed = await listener.until('Refused');
    expect(printed).toContain('Refused POST /webhooks-listen: Missing required headers');
    expect(printed).not.toContain('order.completed');
    await listener.end(10_000);
  });

  it('npm run webhooks:listen says how to start the service when nothing answers', async () => {
    const base = `http://127.0.0.1:${await freePort()}`;
    const listener = await listen(base);
    expect(await listener.exited).toBe(1);
    expect(listener.printed()).toBe(
      `Nothing answers at ${base}. Start the service in another terminal: npm start\n` +
        'If it listens elsewhere, set PORT or BASE to what it prints.\n',
    );
  });

  it('EMAIL and PASSWORD name another login, and a wrong one is said', async () => {
    const login = { EMAIL: 'marketing@example.com', PASSWORD };
    const listener = await listenAs(login, service.url);
    expect(await listener.until('Waiting for')).toContain('Waiting for the events of marketing@example.com at');
    const wrong = await listenAs({ ...login, PASSWORD: 'another-password' }, service.url);
    expect(await wrong.exited).toBe(1);
    expect(wrong.printed()).toContain('has no such login as marketing@example.com');
  });

  it('npm run webhooks:listen -- --help prints its options, and an unknown option is refused with them', async () => {
    const help = await listen(service.url, '--help');
    expect(await help.exited).toBe(0);
    expect(help.printed()).toMatch(/^Prints the events/);
    expect(help.printed()).toContain('npm run webhooks:listen -- --batch 100');
    const unknown = await listen(service.url, '--bacth', '5');
    expect(await unknown.exited).toBe(1);
    expect(unknown.printed()).toMatch(/^Unknown option '--bacth'/);
    expect(unknown.printed()).toContain(help.printed());
    expect(unknown.printed()).not.toContain('node:internal');
  });

  it('the welcome of npm start prints npm run webhooks:listen with the port of the service', () => {
    expect(welcome(3005, database.url, 'secret')).toContain('\nPORT=3005 npm run webhooks:listen\n');
  });
});
