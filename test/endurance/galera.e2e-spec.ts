import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findGalera, Galera } from '../../tools/clusters/galera.mjs';
import { connect } from '../../tools/database/connection.mjs';
import { Client } from '../support/client.js';
import { migrate } from '../support/database.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { duringLoads, untilAnsweredAgain, watchPauses } from '../support/load/pauses.js';
import { Workload } from '../support/load/workload.js';
import { testAcrossInstances } from '../support/races/across-instances.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';

/** Requests of one customer wait for each other, so each load has several. */
const CUSTOMERS = 4;

const parts = await findGalera();

describeIf(parts, 'Galera, because mariadbd or the package galera-4 is missing')('a Galera cluster', () => {
  let cluster: Galera;
  /** One instance per node. */
  let services: Service[] = [];
  let merchant: TestMerchant;
  let clients: Client[];

  beforeAll(async () => {
    cluster = new Galera(parts!.server, parts!.provider);
    await cluster.start();
    await migrate(cluster.urls[0]!);
    services = await Promise.all(
      cluster.urls.map((databaseUrl) =>
        startService({ databaseUrl, env: { LOG_LEVEL: 'error', DATABASE_POOL_SIZE: '10' } }),
      ),
    );
    merchant = await aMerchant(services[0]!);
    clients = services.map((service) => new Client(service, merchant.tokens.access_token).once);
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await cluster?.stop();
  });

  async function expectInvariantsOnEveryNode(): Promise<void> {
    for (const service of services) await expectInvariants(service);
  }

  /** Loads on all nodes, each with customers of its own. @param name prefix of the orders of this test */
  async function loadsOn(
    name: string,
  ): Promise<{ loads: Workload[]; work: (isOver: () => boolean) => Promise<void>[] }> {
    const documents = Array.from({ length: CUSTOMERS * 3 }, aDocument);
    for (const document of documents) await merchant.credit(document, '100000.00');
    const loads = services.map((_, at) => {
      const own = documents.slice(at * CUSTOMERS, (at + 1) * CUSTOMERS);
      return new Workload(merchant.tokens.access_token, `${name}${at}`, own);
    });
    return {
      loads,
      work: (isOver) => loads.map((load, at) => load.work(services[at]!.url, at === 2 ? 1 : 3, isOver)),
    };
  }

  async function expectNothingLost(loads: Workload[]): Promise<void> {
    for (const load of loads) {
      expect(load.unexpected).toEqual([]);
      for (const service of services) await load.expectStored(service.dataSource);
      await load.finish(services[0]!.url);
      for (const service of services) await load.expectStored(service.dataSource);
    }
    await expectInvariantsOnEveryNode();
  }

  testAcrossInstances('on three Galera nodes', () => ({ services, merchant }));

  it('a read on a node that is behind waits for what another node has confirmed', async () => {
    const operator = await connect(cluster.urls[1]!);
    // The node applies nothing until it is unlocked.
    await operator.query('FLUSH TABLES WITH READ LOCK');
    const { body } = await clients[0]!.post('/orders', anOrder());
    const reading = clients[1]!.get(`/orders/${body.id}`);
    await sleep(500);
    await operator.query('UNLOCK TABLES');
    expect((await reading).status).toBe(200);
    operator.destroy();
  });

  it('a node that is killed under load loses no answered request, its instance returns 503, and it comes back', async () => {
    const { loads, work } = await loadsOn('G');
    const pause = await duringLoads(work, async () => {
      await untilAnsweredAgain(loads);
      const endWatch = watchPauses(loads.slice(0, 2));
      await cluster.nodes[2]!.kill();
      await untilAnsweredAgain(loads.slice(0, 2));
      const longest = await endWatch();
      const answer = await clients[2]!.post('/orders', anOrder());
      expectProblem(answer, 503, 'unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
      expectProblem(await clients[2]!.get('/health/ready'), 503, 'unavailable');
      await cluster.restart(2);
      await untilAnsweredAgain(loads);
      return longest;
    });
    process.stdout.write(
      `a killed Galera node: the other two answered nothing for ${pause} s; ` +
        `${loads.reduce((sum, load) => sum + load.refused, 0)} requests got 503\n`,
    );
    await expectNothingLost(loads);
  });

  it('after all nodes are killed at once under load, the most advanced one has every answered request', async () => {
    const { loads, work } = await loadsOn('A');
    const behind: number[][] = [];
    await duringLoads(work, async () => {
      for (let time = 0; time < 2; time++) {
        await untilAnsweredAgain(loads, 50);
        await cluster.killAll();
        behind.push(await cluster.restartAll());
        await untilAnsweredAgain(loads);
      }
    });
    process.stdout.write(`all Galera nodes killed: writes that each lacked ${JSON.stringify(behind)}\n`);
    await expectNothingLost(loads);
  });

  it('a node without a quorum is not ready and returns only 503, and recovers without a restart of its instance', async () => {
    await Promise.all([cluster.nodes[1]!.pause(), cluster.nodes[2]!.pause()]);
    const statuses = new Set<number>();
    const send = async (): Promise<void> => {
      const answers = await Promise.all([
        ...Array.from({ length: 10 }, () => clients[0]!.post('/orders', anOrder())),
        clients[0]!.get('/orders'),
      ]);
      for (const { status, headers } of answers) {
        statuses.add(status);
        expect(status !== 503 || headers.has('retry-after')).toBe(true);
      }
    };
    while ((await clients[0]!.get('/health/ready')).status === 200) await send();
    await send();
    cluster.nodes[1]!.resume();
    cluster.nodes[2]!.resume();
    while ((await clients[0]!.post('/orders', anOrder())).status !== 201) await sleep(200);
    expect([...statuses].filter((status) => ![200, 201, 503].includes(status))).toEqual([]);
    expect(statuses).toContain(503);
    for (const client of clients) while ((await client.get('/health/ready')).status !== 200) await sleep(200);
    await expectInvariantsOnEveryNode();
  });
});
