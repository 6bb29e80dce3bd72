import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import { startPrivateServer } from '../../tools/database/private-server.mjs';
import { findServers } from '../../tools/database/server-binary.mjs';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { migrate } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';
import { anOrder, PASSWORD } from '../support/factories.js';
import { seedMerchant } from '../support/seed.js';
import { describeIf } from '../support/requirements.js';
import type { Tokens } from '../support/shop.js';

/** The documented maximum time for the 503 response and for the recovery. */
const PROMISED_MS = 5000;
/** Extra time for a busy machine. */
const SLACK_MS = 1500;

/** Only a private server may be paused, never the one that the test run was given. */
const servers = await findServers();

describeIf(servers.length > 0, 'A silent database, because mysqld or mariadbd is missing')(
  'a database that stops answering on open connections',
  () => {
    let folder: string;
    let server: Awaited<ReturnType<typeof startPrivateServer>>;
    let service: BuiltService;
    let client: Client;
    let tokens: { access_token: string; refresh_token: string };
    let email: string;

    beforeAll(async () => {
      folder = makeTempFolder('cashback-silence');
      server = await startPrivateServer({ dataDir: path.join(folder, 'data'), litter: folder, durable: false });
      await migrate(server.url);
      email = await seedMerchant(createDataSource(server.url));
      service = await startBuiltService(server.url, { LOG_LEVEL: 'fatal' });
      tokens = (await new Client(service).post<Tokens>('/auth/login', { email, password: PASSWORD })).body;
      client = new Client(service, tokens.access_token).once;
    });
    afterAll(async () => {
      server?.resume();
      await service?.stop();
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    it('while the database does not answer, every request returns 503 with Retry-After within five seconds and the service stays alive', async () => {
      await atOnce(20, () => client.post('/orders', anOrder()));
      await server.pause();
      // /health/ready can return a check that is one second old.
      await sleep(1500);
      const asked: (() => Promise<Answer<unknown>>)[] = [
        () => client.post('/orders', anOrder()),
        () => client.get('/orders'),
        () => client.post('/wallets/search', { document: '52998224725' }),
        () => new Client(service).once.post<Tokens>('/auth/login', { email, password: PASSWORD }),
        () => new Client(service).once.post<Tokens>('/auth/refresh', { refresh_token: tokens.refresh_token }),
        () => client.get('/health/ready'),
      ];
      // Send more requests than there are connections, and again when every connection is known to be stuck.
      for (let round = 1; round <= 2; round++) {
        const answers = await Promise.all([...asked, ...asked, ...asked].map((ask) => timed(ask)));
        for (const { answer, took } of answers) {
          expectProblem(answer, 503, 'unavailable');
          expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
          expect(took).toBeLessThan(PROMISED_MS + SLACK_MS);
        }
        expect((await client.get('/health/live')).status).toBe(200);
      }
    });

    it('the service uses the database again within five seconds after it recovers', async () => {
      server.resume();
      const order = anOrder();
      const { took } = await timed(async () => {
        for (const deadline = Date.now() + PROMISED_MS + SLACK_MS; ; await sleep(50)) {
          const answer = await client.post('/orders', order);
          const ready = await client.get('/health/ready');
          if ((answer.status === 201 && ready.status === 200) || Date.now() > deadline) return answer;
        }
      });
      expect(took).toBeLessThan(PROMISED_MS + SLACK_MS);
      expect((await client.get('/health/ready')).status).toBe(200);
      expect((await atOnce(30, () => client.post('/orders', anOrder()))).map(({ status }) => status)).toEqual(
        Array(30).fill(201),
      );
    });

    it('requests that are retried after the database recovers take effect once', async () => {
      const orders = Array.from({ length: 5 }, () => anOrder());
      await server.pause();
      const first = await Promise.all(orders.map((order) => client.post('/orders', order)));
      expect(first.map(({ status }) => status)).toEqual(Array(5).fill(503));
      server.resume();
      for (const order of orders) {
        let answer = await client.post('/orders', order);
        for (let attempt = 0; answer.status === 503 && attempt < 100; attempt++) {
          await sleep(50);
          answer = await client.post('/orders', order);
        }
        expect(answer.status).toBe(201);
        const { body } = await client.get(`/orders?external_id=${order.external_id}`);
        expect(body.data.map(({ id }: { id: string }) => id)).toEqual([answer.body.id]);
      }
    });
  },
);

async function timed(ask: () => Promise<Answer<unknown>>): Promise<{ answer: Answer<unknown>; took: number }> {
  const startedAt = performance.now();
  const answer = await ask();
  return { answer, took: performance.now() - startedAt };
}
