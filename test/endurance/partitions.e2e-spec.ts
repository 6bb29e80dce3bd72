/* eslint jest/expect-expect: ["error", { "assertFunctionNames": ["expect", "underLoad"] }] */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { findGalera, Galera } from '../../tools/clusters/galera.mjs';
import { GroupReplication } from '../../tools/clusters/group-replication.mjs';
import { hasHaproxy, startHaproxy } from '../../tools/clusters/haproxy.mjs';
import { HostNetwork } from '../../tools/clusters/network.mjs';
import { findServers } from '../../tools/database/server-binary.mjs';
import { Client } from '../support/client.js';
import { migrate } from '../support/database.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { duringLoads, untilAnsweredAgain } from '../support/load/pauses.js';
import { Workload } from '../support/load/workload.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';
import { untilAvailable } from '../support/until-available.js';

/** How long the nodes stay apart: longer than the others need to replace a primary. */
const APART_MS = 40_000;
// A group that lost its majority takes minutes to stop and start.
jest.setTimeout(900_000);

const canCut = await HostNetwork.isPossible();
const parts = await findGalera();
const mysqld = process.env.TEST_MYSQLD;
const mysql = mysqld
  ? ({ file: mysqld, flavour: 'mysql' } as const)
  : (await findServers()).find(({ flavour }) => flavour === 'mysql');

/** A cluster whose nodes can be cut off from each other, and instances of the service on it. */
interface Lab {
  network: HostNetwork;
  cluster: Galera | GroupReplication;
  services: Service[];
  merchant: TestMerchant;
}

const clients = ({ services, merchant }: Lab): Client[] =>
  services.map((service) => new Client(service, merchant.tokens.access_token).once);

async function untilReady({ services }: Lab): Promise<void> {
  for (const service of services)
    while ((await new Client(service).get('/health/ready')).status !== 200) await sleep(100);
}

/** Sends requests with every instance meanwhile, and expects all answered ones afterwards, on every instance. */
async function underLoad(lab: Lab, name: string, change: (loads: Workload[]) => Promise<void>): Promise<void> {
  const { services, merchant } = lab;
  const documents = Array.from({ length: 9 }, aDocument);
  for (const document of documents) await merchant.credit(document, '100000.00');
  const loads = services.map(
    (_, at) => new Workload(merchant.tokens.access_token, `${name}${at}`, documents.slice(at * 3, at * 3 + 3)),
  );
  await duringLoads(
    (isOver) => loads.map((load, at) => load.work(services[at]!.url, 2, isOver)),
    async () => {
      await untilAnsweredAgain(loads);
      await change(loads);
      await untilReady(lab);
      await untilAnsweredAgain(loads);
    },
  );
  for (const load of loads) {
    expect(load.unexpected).toEqual([]);
    for (const service of services) await untilAvailable(() => load.expectStored(service.dataSource));
    await load.finish(services[0]!.url);
    for (const service of services) await untilAvailable(() => load.expectStored(service.dataSource));
  }
  for (const service of services) await expectInvariants(service);
}

/** Changes orders through each instance and reads them through every one. @returns how often that worked */
async function readWhatIsWritten(lab: Lab, forMs: number): Promise<{ written: number; read: number }> {
  const instances = clients(lab);
  let [written, read] = [0, 0];
  const oneAfterAnother = async (writer: Client): Promise<void> => {
    for (const end = Date.now() + forMs; Date.now() < end; await sleep(50)) {
      const created = await writer.post('/orders', anOrder());
      if (created.status !== 201) continue;
      const { id } = created.body;
      const cancelled = await writer.post(`/orders/${id}/cancel`);
      written++;
      await Promise.all(
        instances.map(async (reader) => {
          const { status, body } = await reader.get(`/orders/${id}`);
          // An instance may be unable to answer, but an answer has what another instance has confirmed.
          expect([200, 503]).toContain(status);
          if (status !== 200) return;
          read++;
          // A cancellation that was answered 503 may be done or not.
          if (cancelled.status === 200) expect(body.status).toBe('cancelled');
        }),
      );
    }
  };
  await Promise.all(instances.map(oneAfterAnother));
  return { written, read };
}

/** Cuts nodes off from the others for a while. */
async function apart({ network }: Lab, nodes: number[], act: () => Promise<unknown>): Promise<void> {
  for (const node of nodes) await network.cut(node);
  try {
    await act();
  } finally {
    for (const node of nodes) await network.heal(node);
  }
}

function testPartitions(what: string, start: () => Promise<Lab & { writable: () => Promise<number> }>): void {
  let lab: Awaited<ReturnType<typeof start>>;
  let stopped: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    lab = await start();
    stopped = async () => {
      await Promise.all(lab.services.map((service) => service.stop()));
      await lab.cluster.stop();
    };
  });
  afterAll(() => stopped?.());

  it(`${what}: if a node that accepts writes is cut off, no answered request is lost and no answer is stale`, async () => {
    await underLoad(lab, 'P', async () => {
      const node = await lab.writable();
      await apart(lab, [node], async () => {
        const { written, read } = await readWhatIsWritten(lab, APART_MS);
        expect(written).toBeGreaterThan(0);
        process.stdout.write(`${what}, node ${node} apart: ${written} orders written, ${read} times read\n`);
      });
      await lab.cluster.reunite();
    });
  });

  it(`${what}: if all nodes are apart, nothing is answered, and nothing is lost`, async () => {
    await underLoad(lab, 'Q', async () => {
      await apart(lab, [0, 1, 2], () => sleep(APART_MS));
      await lab.cluster.reunite();
    });
  });

  it(`${what}: if all nodes are killed while one is cut off, the most advanced one has every answered request`, async () => {
    await underLoad(lab, 'R', async () => {
      await apart(lab, [await lab.writable()], async () => {
        await sleep(APART_MS / 2);
        await lab.cluster.killAll();
      });
      await lab.cluster.restartAll();
    });
  });
}

const ENV = { LOG_LEVEL: 'error', DATABASE_POOL_SIZE: '10' };

async function instancesOn(urls: string[]): Promise<{ services: Service[]; merchant: TestMerchant }> {
  const services = await Promise.all(urls.map((databaseUrl) => startService({ databaseUrl, env: ENV })));
  return { services, merchant: await aMerchant(services[0]!) };
}

describeIf(canCut && parts, 'partitions of Galera, because there are no network namespaces or no galera-4')(
  'partitions of Galera',
  () => {
    testPartitions('Galera', async () => {
      const network = new HostNetwork();
      const cluster = new Galera(parts!.server, parts!.provider, network);
      await cluster.start();
      await migrate(cluster.urls[0]!);
      // Every node accepts writes.
      return { network, cluster, ...(await instancesOn(cluster.urls)), writable: () => Promise.resolve(2) };
    });
  },
);

describeIf(
  canCut && mysql && (await hasHaproxy()),
  'partitions of Group Replication, because there are no network namespaces, no mysqld or no haproxy',
)('partitions of Group Replication', () => {
  let haproxy: Awaited<ReturnType<typeof startHaproxy>>;
  afterAll(() => haproxy?.stop());

  testPartitions('Group Replication', async () => {
    const network = new HostNetwork();
    const cluster = new GroupReplication(mysql!, network);
    await cluster.start();
    haproxy = await startHaproxy(cluster.urls);
    await migrate(cluster.urls[0]!);
    const instances = await instancesOn([haproxy.url, haproxy.url, haproxy.url]);
    return { network, cluster, ...instances, writable: async () => (await cluster.primary()) ?? 0 };
  });
});
