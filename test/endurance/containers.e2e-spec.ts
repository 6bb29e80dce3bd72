import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { provideDatabase } from '../../tools/local-database.mjs';
import { findFreePort } from '../../tools/support/ports.mjs';
import { run } from '../../tools/support/processes.mjs';
import { Client } from '../support/client.js';
import { Compose, Containers, hasContainers, SECRETS } from '../support/containers.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { describeIf } from '../support/requirements.js';
import { duringLoads, untilAnsweredAgain } from '../support/load/pauses.js';
import { Workload } from '../support/load/workload.js';
import { type Service, startService } from '../support/service.js';

jest.setTimeout(1_200_000);

const ADDED_BYTES_AT_MOST = 250 * 1024 ** 2;

const WORKERS = 4;
/** The edge answers 503 at once, so callers that do not wait would begin thousands of orders. */
const PAUSE_MS = 500;

describeIf(await hasContainers(), 'Containers, because no Docker engine is running')('containers', () => {
  let containers: Containers;

  beforeAll(async () => {
    containers = await Containers.start();
  });

  it('the image from Dockerfile adds less than 250 MiB to its base', async () => {
    const [own, base] = await Promise.all(
      ['cashback-order-service', 'node:24-bookworm-slim'].map((image) =>
        containers.docker(['image', 'inspect', '--format', '{{.Size}}', image]),
      ),
    );
    const added = Number(own) - Number(base);
    process.stdout.write(`the image adds ${Math.round(added / 1024 ** 2)} MiB to its base\n`);
    expect(added).toBeLessThan(ADDED_BYTES_AT_MOST);
  });

  it('npm test finds the engine and runs an end-to-end test on MySQL in a container', async () => {
    const said: string[] = [];
    const restore = useOnlyDocker();
    const database = await provideDatabase({ purpose: 'test', say: (line) => said.push(line) }).finally(restore);
    try {
      expect(said).toContainEqual(expect.stringMatching(/^Docker \S+ answers/));
      expect(said.at(-1)).toMatch(/^MySQL .* is ready/);
      const args = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', 'test/orders/refund'];
      const env = { ...process.env, DATABASE_URL: database.url };
      const { ok, output } = await run(process.execPath, [...args, '--selectProjects', 'e2e'], {
        env,
        timeoutMs: 500_000,
      });
      expect({ ok, output }).toEqual({ ok: true, output: expect.stringContaining('0 total') });
    } finally {
      useOnlyDocker();
      await database.stop().finally(restore);
    }
  });

  it.each([[['compose.yaml']], [['compose.yaml', 'compose.cluster.yaml']]])(
    '%j publish the port of the edge, and no other one',
    async (files) => {
      const config = await new Compose(containers, 3000, files).run('config', '--format', 'json');
      const { services } = JSON.parse(config) as { services: Record<string, { ports?: { published: string }[] }> };
      const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
        ports.map((port) => [name, port.published]),
      );
      expect(published).toEqual([['edge', '3000']]);
    },
  );

  it.each([[['compose.yaml']], [['compose.yaml', 'compose.cluster.yaml']]])(
    'docker compose up with %j and no secrets starts no database, and says which secrets are missing',
    async (files) => {
      const compose = new Compose(containers, await findFreePort(), files);
      try {
        await expect(compose.run('up', '--detach', '--no-build')).rejects.toThrow('check');
        const log = await compose.run('logs', '--no-log-prefix', 'check');
        expect(log.match(/^ *[A-Z_]+ (must be|is missing)/gm)).toEqual([
          'DATABASE_PASSWORD must be',
          'DATABASE_MIGRATIONS_PASSWORD must be',
          'DATABASE_ROOT_PASSWORD must be',
          '  JWT_SECRET is missing',
        ]);
        expect(await compose.run('ps', '--all', '--format', '{{.Service}}', '--status', 'exited')).toBe('check');
        expect(await compose.run('ps', '--status', 'running', '--quiet')).toBe('');
      } finally {
        await compose.down();
      }
    },
  );

  describe('docker compose up', () => {
    const stage = useCompose(() => containers, ['compose.yaml'], 'database');

    it('starts the database, applies the migrations, and serves orders at the published port', async () => {
      const client = new Client(stage.compose, stage.merchant.tokens.access_token);
      const order = anOrder();
      expect((await client.post('/orders', order)).status).toBe(201);
      const replayed = await client.post('/orders', order);
      expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    });

    it('runs the service as a user that owns nothing, without capabilities, on a read-only root file system', async () => {
      const status = await stage.compose.run('exec', '-T', 'service', 'cat', '/proc/1/status', '/proc/self/status');
      expect(status.match(/^Uid:.*$/gm)).toEqual(Array(2).fill('Uid:\t1000\t1000\t1000\t1000'));
      expect(new Set(status.match(/^Cap(Prm|Eff|Bnd):.*$/gm))).toEqual(
        new Set(['Prm', 'Eff', 'Bnd'].map((set) => `Cap${set}:\t0000000000000000`)),
      );
      const write = stage.compose.run('exec', '-T', 'service', 'touch', '/app/dist/new', '/home/node/new');
      await expect(write).rejects.toThrow(/Read-only file system[^]*Read-only file system/);
    });

    it('every container has a memory limit and at most 100 MiB of logs', () => expectLimits(containers, stage));

    it('the service cannot change its tables', () => expectNoChangeOfTables(stage));

    it('docker stop under load loses no answered request, and the service exits with code 0', async () => {
      const load = stage.load('D', PAUSE_MS);
      const id = await stage.compose.idOf('service');
      const work = (isOver: () => boolean): Promise<void>[] => [load.work(stage.compose.url, WORKERS, isOver)];
      await duringLoads(work, async () => {
        await untilAnsweredAgain([load]);
        await containers.docker(['stop', id]);
      });
      expect(await containers.docker(['inspect', '--format', '{{.State.ExitCode}}', id])).toBe('0');
      await load.expectStored(stage.observer.dataSource);
      await containers.docker(['start', id]);
      await stage.compose.untilReady();
      await load.finish(stage.compose.url);
      expect(load.unexpected).toEqual([]);
      await load.expectStored(stage.observer.dataSource);
      await expectInvariants(stage.observer);
    });

    it('an admin command in the container proves the money', async () => {
      const output = await stage.compose.run('exec', '-T', 'service', 'node', 'dist/src/admin.js', 'reconcile');
      expect(output).toContain('"findings":0');
    });
  });

  describe('docker compose up with compose.cluster.yaml', () => {
    const stage = useCompose(() => containers, ['compose.yaml', 'compose.cluster.yaml'], 'haproxy');

    it('serves orders from three instances on a group of three servers, also after one of the servers is killed', async () => {
      expect((await stage.compose.run('ps', '--quiet', 'service')).split('\n')).toHaveLength(3);
      const load = stage.load('C', PAUSE_MS);
      const primary = await primaryOf(stage.observer);
      const killed = await stage.compose.idOf(primary);
      const work = (isOver: () => boolean): Promise<void>[] => [load.work(stage.compose.url, WORKERS, isOver)];
      await duringLoads(work, async () => {
        await untilAnsweredAgain([load]);
        await containers.docker(['kill', killed]);
        await untilAnsweredAgain([load]).finally(() => containers.docker(['start', killed]));
      });
      expect(await primaryOf(stage.observer)).not.toBe(primary);
      await load.expectStored(stage.observer.dataSource);
      await load.finish(stage.compose.url);
      expect(load.unexpected).toEqual([]);
      await load.expectStored(stage.observer.dataSource);
      await expectInvariants(stage.observer);

      while ((await onlineMembers(stage, await primaryOf(stage.observer))) < 3) await sleep(500);
    });

    it('every container of the cluster has a memory limit and at most 100 MiB of logs', () =>
      expectLimits(containers, stage));

    it('the service cannot change its tables in the cluster', () => expectNoChangeOfTables(stage));
  });
});

interface Stage {
  compose: Compose;
  /** An instance inside the test process on the same database, to grant cashback and to read rows. */
  observer: Service;
  merchant: TestMerchant;
  load(name: string, pauseMs?: number): Workload;
}

/** Starts a Compose project before the tests of the calling `describe`, and removes all of it after them. */
function useCompose(containers: () => Containers, files: string[], entry: string): Stage {
  const stage = {} as Stage;
  beforeAll(async () => {
    stage.compose = new Compose(containers(), await findFreePort(), files);
    await stage.compose.up();
    const databaseUrl = await stage.compose.databaseUrl(entry);
    stage.observer = await startService({ databaseUrl, env: { LOG_LEVEL: 'error' } });
    stage.merchant = await aMerchant(stage.observer);
    const documents = Array.from({ length: 4 }, aDocument);
    for (const document of documents) await stage.merchant.credit(document, '100000.00');
    stage.load = (name, pauseMs) => new Workload(stage.merchant.tokens.access_token, name, documents, pauseMs);
  });
  afterAll(async () => {
    await stage.observer?.stop();
    // Without the secret: it is not needed to stop.
    await stage.compose.down();
    expect(await stage.compose.run('ps', '--all', '--quiet')).toBe('');
  });
  return stage;
}

async function expectLimits(containers: Containers, { compose }: Stage): Promise<void> {
  const ids = (await compose.run('ps', '--all', '--quiet')).split('\n');
  const format = '{{json .Name}}: [{{.HostConfig.Memory}}, {{json .HostConfig.LogConfig}}]';
  const lines = (await containers.docker(['inspect', '--format', format, ...ids])).split('\n');
  const limits = JSON.parse(`{${lines.join()}}`) as Record<string, [number, unknown]>;
  const logs = { Type: 'json-file', Config: { 'max-size': '20m', 'max-file': '5' } };
  for (const [name, [memory, log]] of Object.entries(limits))
    expect({ name, isLimited: memory > 0, log }).toEqual({ name, isLimited: true, log: logs });
}

async function expectNoChangeOfTables({ observer }: Stage): Promise<void> {
  const changes = [
    'CREATE TABLE t (id INT PRIMARY KEY)',
    'ALTER TABLE orders ADD COLUMN c INT',
    'CREATE INDEX i ON orders (id)',
    'DROP TABLE cashback_entries',
    'TRUNCATE TABLE cashback_entries',
    'CREATE TRIGGER t BEFORE DELETE ON orders FOR EACH ROW SET @c = 1',
    'DROP TRIGGER tr_cashback_entries_no_delete',
  ];
  for (const sql of changes)
    await expect(observer.dataSource.query(sql)).rejects.toMatchObject({
      driverError: { code: 'ER_TABLEACCESS_DENIED_ERROR', sql },
    });
}

async function primaryOf({ dataSource }: Service): Promise<string> {
  const [row] = await dataSource.query<{ host: string }[]>('SELECT @@report_host AS host');
  return row!.host;
}

/** The number of servers in the group, as one of them says. */
async function onlineMembers({ compose }: Stage, server: string): Promise<number> {
  const sql = "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'";
  const mysql = ['mysql', '--host=127.0.0.1', '--user=root', '--skip-column-names', `--execute=${sql}`];
  const password = `MYSQL_PWD=${SECRETS.DATABASE_ROOT_PASSWORD}`;
  return Number(await compose.run('exec', '-T', '--env', password, server, ...mysql));
}

/** Lets tools look for a database as on a machine with nothing but Docker. @returns a function that undoes it. */
function useOnlyDocker(): () => void {
  const { DATABASE_URL, LOCAL_MYSQLD } = process.env;
  const set = (values: Record<string, string | undefined>): void => {
    for (const [name, value] of Object.entries(values))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  };
  set({ DATABASE_URL: undefined, LOCAL_MYSQLD: undefined });
  return () => set({ DATABASE_URL, LOCAL_MYSQLD });
}
