import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { migrate } from '../support/database.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, PASSWORD, type TestMerchant } from '../support/factories.js';
import { duringLoads } from '../support/load/pauses.js';
import { Workload } from '../support/load/workload.js';
import { OwnServer, servers } from '../support/private-server.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';
import type { Tokens } from '../support/shop.js';

const WORKERS = 6;
/** The wait of a worker after a 503: each one leaves a sale that is finished after the outage. */
const PAUSE_MS = 100;
/** The maximum number of seconds for the service to recover after its database does. */
const RECOVERS_WITHIN = 10;
/** The documented maximum time for the 503 response of a silent database, and for the recovery. */
const PROMISED_MS = 5000;
/** Extra time for a busy machine. */
const SLACK_MS = 1500;

describeIf(servers.length > 0, 'The loss of a database, because mysqld or mariadbd is missing')(
  'a database that is lost',
  () => {
    const server = new OwnServer();
    let service: BuiltService;
    /** An instance inside the test process, used to read data. It loses its database too. */
    let observer: Service;
    let merchant: TestMerchant;
    let client: Client;
    const documents = Array.from({ length: 4 }, aDocument);

    beforeAll(async () => {
      await server.start({ durable: true });
      await migrate(server.url);
      observer = await startService({ databaseUrl: server.url, env: { LOG_LEVEL: 'silent' } });
      merchant = await aMerchant(observer);
      for (const document of documents) await merchant.credit(document, '100000.00');
      service = await startBuiltService(server.url, { LOG_LEVEL: 'fatal' });
      client = new Client(service, merchant.tokens.access_token).once;
    });
    afterAll(async () => {
      server.resume();
      await service?.stop();
      await observer?.stop();
      await server.stop();
    });

    it.each([1, 2, 3])(
      'outage %i: a killed database loses no answered request, and callers get only 503 with Retry-After',
      async () => {
        const load = new Workload(merchant.tokens.access_token, randomUUID(), documents, PAUSE_MS);
        const work = (isOver: () => boolean): Promise<void>[] => [load.work(service.url, WORKERS, isOver)];
        await duringLoads(work, async () => {
          await sleep(1000);
          await server.kill();
          await sleep(1500);
          const before = load.answered;
          await server.start();
          expect(await answersMoreThan(load, before + WORKERS)).toBe(true);
        });

        expect(load.unexpected).toEqual([]);
        expect({ refused: load.refused > 0, unanswered: load.unanswered }).toEqual({ refused: true, unanswered: 0 });
        await load.expectStored(observer.dataSource);
        await expectInvariants(observer);
        await load.finish(service.url);
        await load.expectStored(observer.dataSource);
        await expectInvariants(observer);
        process.stdout.write(`${load.answered} requests answered, ${load.refused} refused with 503\n`);
      },
    );

    it('while the database does not answer, every request returns 503 with Retry-After within five seconds and the service stays alive', async () => {
      await atOnce(20, () => client.post('/orders', anOrder()));
      await server.pause();
      // /health/ready can return a check that is one second old.
      await sleep(1500);
      const asked: (() => Promise<Answer<unknown>>)[] = [
        () => client.post('/orders', anOrder()),
        () => client.get('/orders'),
        () => client.post('/wallets/search', { document: '52998224725' }),
        () => new Client(service).once.post<Tokens>('/auth/login', { email: merchant.email, password: PASSWORD }),
        () => new Client(service).once.post<Tokens>('/auth/refresh', { refresh_token: merchant.tokens.refresh_token }),
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
  },
);

/** Whether the service recovers by itself in time. */
async function answersMoreThan(load: Workload, count: number): Promise<boolean> {
  for (const deadline = Date.now() + RECOVERS_WITHIN * 1000; Date.now() < deadline;) {
    if (load.answered > count) return true;
    await sleep(50);
  }
  return false;
}

async function timed(ask: () => Promise<Answer<unknown>>): Promise<{ answer: Answer<unknown>; took: number }> {
  const startedAt = performance.now();
  const answer = await ask();
  return { answer, took: performance.now() - startedAt };
}
