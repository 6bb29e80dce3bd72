/* eslint jest/expect-expect: ["error", { "assertFunctionNames": ["expect", "underLoad"] }] */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { GroupReplication } from '../../tools/clusters/group-replication.mjs';
import { hasHaproxy, startHaproxy } from '../../tools/clusters/haproxy.mjs';
import { query } from '../../tools/database/connection.mjs';
import { findServers, type ServerBinary } from '../../tools/database/server-binary.mjs';
import { Client } from '../support/client.js';
import { migrate } from '../support/database.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { duringLoads, untilAnsweredAgain, watchPauses } from '../support/load/pauses.js';
import { Workload } from '../support/load/workload.js';
import { testAcrossInstances } from '../support/races/across-instances.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';
import type { Tokens } from '../support/shop.js';

const WORKERS = 3;
const ENV = { LOG_LEVEL: 'error', DATABASE_POOL_SIZE: '10' };

const server = await findServer();

describeIf(server, 'Group Replication, because mysqld or haproxy is missing (TEST_MYSQLD may name a mysqld)')(
  'a Group Replication cluster',
  () => {
    let cluster: GroupReplication;
    let haproxy: Awaited<ReturnType<typeof startHaproxy>>;
    /** Three instances, which reach the primary through HAProxy. */
    let services: Service[] = [];
    let merchant: TestMerchant;
    const documents = Array.from({ length: 4 }, aDocument);

    beforeAll(async () => {
      cluster = new GroupReplication(server!);
      await cluster.start();
      haproxy = await startHaproxy(cluster.urls);
      await migrate(cluster.urls[0]!);
      services = await Promise.all([1, 2, 3].map(() => startService({ databaseUrl: haproxy.url, env: ENV })));
      await untilReady();
      merchant = await aMerchant(services[0]!);
      for (const document of documents) await merchant.credit(document, '100000.00');
    });
    afterAll(async () => {
      await Promise.all(services.map((service) => service.stop()));
      await haproxy?.stop();
      await cluster?.stop();
    });

    const onNode = (node: number, sql: string): Promise<Record<string, unknown>[]> => query(cluster.urls[node]!, sql);

    async function untilReady(): Promise<void> {
      for (const service of services)
        while ((await new Client(service).get('/health/ready')).status !== 200) await sleep(100);
    }

    /** Runs the change during a load on all instances, and waits until each answers again. @returns what to print */
    async function underLoad(name: string, change: () => Promise<void>): Promise<string> {
      const loads = services.map((_, at) => new Workload(merchant.tokens.access_token, `${name}${at}`, documents));
      const work = (isOver: () => boolean): Promise<void>[] =>
        loads.map((load, at) => load.work(services[at]!.url, WORKERS, isOver));
      const pause = await duringLoads(work, async () => {
        await untilAnsweredAgain(loads);
        const endWatch = watchPauses(loads);
        await change();
        await untilAnsweredAgain(loads);
        return endWatch();
      });
      for (const load of loads) {
        expect({ unexpected: load.unexpected, unanswered: load.unanswered }).toEqual({ unexpected: [], unanswered: 0 });
        await load.expectStored(services[0]!.dataSource);
        await load.finish(services[0]!.url);
        await load.expectStored(services[0]!.dataSource);
      }
      await expectInvariants(services[0]!);
      const [answered, refused] = [sum(loads, 'answered'), sum(loads, 'refused')];
      return `nothing was answered for ${pause} s; ${answered} requests answered, ${refused} got 503 with Retry-After\n`;
    }

    testAcrossInstances('on a group of three servers', () => ({ services, merchant }));

    it('an instance on a secondary is not ready, reads, and returns 503 for every write', async () => {
      const service = await startService({ databaseUrl: cluster.urls[1]!, env: ENV });
      try {
        const client = new Client(service, merchant.tokens.access_token).once;
        for (const answer of [
          await client.get('/health/ready'),
          await client.post('/orders', anOrder()),
          await client.post<Tokens>('/auth/login', { email: merchant.email, password: merchant.password }),
        ]) {
          expectProblem(answer, 503, 'unavailable');
          expect(answer.headers.get('retry-after')).toBe('1');
        }
        expect((await client.get('/orders')).status).toBe(200);
      } finally {
        await service.stop();
      }
    });

    it('after a planned switch of the primary under load, callers get only 503 until the new primary answers', async () => {
      const [row] = (await onNode(1, 'SELECT @@server_uuid AS id')) as { id: string }[];
      const outcome = await underLoad('S', async () => {
        await onNode(0, `SELECT group_replication_set_as_primary('${row!.id}')`);
      });
      expect(await cluster.primary()).toBe(1);
      process.stdout.write(`a planned switch of the primary: ${outcome}`);
    });

    it('after the primary is killed under load, callers get only 503 until a new primary answers, and nothing is lost', async () => {
      const killed = (await cluster.primary())!;
      const outcome = await underLoad('K', () => cluster.nodes[killed]!.kill());
      process.stdout.write(`a killed primary: ${outcome}`);

      await cluster.restart(killed);
      const primary = (await cluster.primary())!;
      const [done] = (await onNode(primary, 'SELECT @@GLOBAL.gtid_executed AS sets')) as { sets: string }[];
      for (const [node, databaseUrl] of cluster.urls.entries()) {
        await onNode(node, `SELECT WAIT_FOR_EXECUTED_GTID_SET('${done!.sets.replaceAll('\n', '')}', 30)`);
        const observer = await startService({ databaseUrl, env: ENV });
        try {
          await expectInvariants(observer);
          const [count] = await observer.dataSource.query<{ n: number }[]>('SELECT COUNT(*) AS n FROM orders');
          const [expected] = await services[0]!.dataSource.query<{ n: number }[]>('SELECT COUNT(*) AS n FROM orders');
          expect(Number(count!.n)).toBe(Number(expected!.n));
        } finally {
          await observer.stop();
        }
      }
    });

    it('after all servers are killed at once under load, the most advanced one has every answered request', async () => {
      const outcome = await underLoad('A', async () => {
        await cluster.killAll();
        await cluster.restartAll();
      });
      process.stdout.write(`all servers killed: ${outcome}`);
    });
  },
);

const sum = (loads: Workload[], figure: 'answered' | 'refused'): number =>
  loads.reduce((total, load) => total + load[figure], 0);

/**
 * Returns the MySQL server of this machine, if HAProxy is there, too. TEST_MYSQLD names one on a machine whose first
 * server is another one.
 */
async function findServer(): Promise<ServerBinary | undefined> {
  if (!(await hasHaproxy())) return undefined;
  const file = process.env.TEST_MYSQLD;
  return file ? { file, flavour: 'mysql' } : (await findServers()).find(({ flavour }) => flavour === 'mysql');
}
