import { cpSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { type Edge, startEdge } from '../../tools/clusters/haproxy.mjs';
import { makeTempFolder, PROJECT } from '../../tools/support/processes.mjs';
import { type Outcome, runNode } from '../support/build.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { atOnce } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { BEHIND_EDGE, describeWithEdge } from '../support/edge.js';
import { aMerchant, anOrder } from '../support/factories.js';
import { type Service, startService, testEnvironment } from '../support/service.js';

jest.setTimeout(300_000);

const WORKERS = 4;

/** What the next release adds to the schema, as its build has it. */
const MIGRATION = `
import { hasColumn } from '../src/platform/database/migrations.js';
export class AddOrderChannel9000000000000 {
  async up(runner) {
    if (!(await hasColumn(runner, 'orders', 'channel')))
      await runner.query("ALTER TABLE orders ADD COLUMN channel VARCHAR(20) NOT NULL DEFAULT 'till', ALGORITHM = INSTANT");
  }
  async down(runner) {
    if (await hasColumn(runner, 'orders', 'channel'))
      await runner.query('ALTER TABLE orders DROP COLUMN channel, ALGORITHM = INSTANT');
  }
}
`;

describeWithEdge('an upgrade of two instances behind the edge, under load', () => {
  let database: TestDatabase;
  /** Inside the test process, to read the database. */
  let observer: Service;
  let token: string;
  let folder: string;
  let edge: Edge;
  let before: unknown;
  const instances: BuiltService[] = [];
  /** Where the builds are. */
  const releases = { old: PROJECT, next: '' };

  beforeAll(async () => {
    folder = releases.next = makeTempFolder('cashback-next-release');
    for (const each of ['dist', 'package.json'])
      cpSync(path.join(PROJECT, each), path.join(folder, each), { recursive: true });
    symlinkSync(path.join(PROJECT, 'node_modules'), path.join(folder, 'node_modules'));
    writeFileSync(path.join(folder, 'dist/migrations/9000000000000-AddOrderChannel.js'), MIGRATION);

    database = await createMigratedDatabase();
    observer = await startService({ databaseUrl: database.url });
    token = (await aMerchant(observer)).tokens.access_token;
    for (const _ of [1, 2]) instances.push(await start('old'));
    edge = await startEdge(instances.map(({ url }) => url));
    before = await anOrderThrough();
  });
  afterAll(async () => {
    await edge?.stop();
    await Promise.all(instances.map((instance) => instance.kill()));
    await observer?.stop();
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = (release: keyof typeof releases, port?: string): Promise<BuiltService> => {
    const env = { ...BEHIND_EDGE, LOG_LEVEL: 'warn', ...(port !== undefined && { PORT: port }) };
    return startBuiltService(database.url, env, 'pipe', path.join(releases[release], 'dist/src/main.js'));
  };
  const migrate = (release: keyof typeof releases, command: string): Promise<Outcome> =>
    runNode(path.join(releases[release], 'dist/src/migrate.js'), [command], { DATABASE_URL: database.url });
  const hasNewColumn = async (): Promise<boolean> =>
    (await observer.dataSource.query<object[]>("SHOW COLUMNS FROM orders LIKE 'channel'")).length > 0;

  /** Sends a request once. @throws unless the response has this status */
  async function send<T>(status: number, method: string, target: string, body?: object): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(edge.url + target, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (response.status !== status) throw new Error(`${method} ${target}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }

  /** Creates, completes and reads an order. */
  async function anOrderThrough(): Promise<{ id: string }> {
    const order = anOrder();
    const { id } = await send<{ id: string }>(201, 'POST', '/orders', order);
    await send(200, 'POST', `/orders/${id}/complete`, {});
    await send(200, 'GET', '/orders?limit=5');
    return send(200, 'GET', `/orders/${id}`);
  }

  /** Creates, completes and reads orders until the change is over and a second longer. @returns what failed */
  async function duringOrders(change: () => Promise<unknown>): Promise<string[]> {
    const failures: string[] = [];
    let orders = 0;
    let isOver = false;
    const working = atOnce(WORKERS, async () => {
      while (!isOver)
        await anOrderThrough().then(
          () => (orders += 1),
          (error: Error) => failures.push(`${error.message} ${(error.cause as Error | undefined)?.message ?? ''}`),
        );
    });
    const untilMore = async (): Promise<void> => {
      for (const wanted = orders + 10; orders < wanted && failures.length === 0;) await sleep(20);
    };
    try {
      await untilMore();
      await change();
      await untilMore();
    } finally {
      isOver = true;
      await working;
    }
    return failures;
  }

  /** Whether that is the last that the edge said of an instance. */
  const isDown = (instance: string): boolean =>
    edge.log().lastIndexOf(`Server ${instance} is DOWN`) > edge.log().lastIndexOf(`Server ${instance} is UP`);

  /** Restarts one instance after the other, each when the edge uses the one before. */
  async function restart(release: keyof typeof releases): Promise<void> {
    for (const [index, { url }] of instances.entries()) {
      expect(await instances[index]!.stop()).toBe(0);
      instances[index] = await start(release, new URL(url).port);
      while (isDown(`service/instance${index + 1}`)) await sleep(50);
    }
  }

  const readiness = (): Promise<number[]> =>
    Promise.all(instances.map(async ({ url }) => (await fetch(`${url}/health/ready`)).status));

  it('no request fails while the next release adds a column and while the instances become that release', async () => {
    const failures = await duringOrders(async () => {
      const migrated = await migrate('next', 'run');
      expect(migrated).toMatchObject({ code: 0, stderr: '' });
      expect(await hasNewColumn()).toBe(true);
      // Longer than a result of readiness is cached.
      await sleep(1500);
      expect(await readiness()).toEqual([200, 200]);
      await restart('next');
    });
    expect(failures).toEqual([]);
  });

  it('the old release cannot revert a migration that it does not know, and changes nothing', async () => {
    const reverted = await migrate('old', 'revert');
    expect(reverted.code).toBe(1);
    expect(await hasNewColumn()).toBe(true);
    expect(await readiness()).toEqual([200, 200]);
  });

  it('no request fails while the instances become the old release again, nor while the column is dropped after that', async () => {
    const failures = await duringOrders(async () => {
      await restart('old');
      expect(await readiness()).toEqual([200, 200]);
      expect(await migrate('next', 'revert')).toMatchObject({ code: 0, stderr: '' });
      expect(await hasNewColumn()).toBe(false);
    });
    expect(failures).toEqual([]);
  });

  it('an order from before the upgrade is unchanged, and the rules of the money hold', async () => {
    const { id } = before as { id: string };
    expect(await send(200, 'GET', `/orders/${id}`)).toEqual(before);
    const env = testEnvironment(database.url);
    const reconciled = await runNode('dist/src/admin.js', ['reconcile'], env);
    expect(reconciled).toMatchObject({ code: 0, stderr: '' });
  });
});
