import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import { createDatabase, createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { DatabaseProxy, type WithheldAnswer } from '../support/database-proxy.js';
import { describeSchema } from '../support/schema.js';

const CHANGES = /^\s*(CREATE|ALTER|DROP|RENAME|INSERT|UPDATE|DELETE)\b/i;

interface Run {
  process: ChildProcess;
  /** Resolves when the process has exited. */
  gone: Promise<unknown>;
  output(): string;
}

function startMigrating(command: 'run' | 'revert', databaseUrl: string): Run {
  const child = spawn(process.execPath, ['dist/src/migrate.js', command], { env: { DATABASE_URL: databaseUrl } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  return { process: child, gone: once(child, 'close'), output: () => output };
}

async function schemaOf(databaseUrl: string): Promise<unknown[]> {
  const dataSource = await createDataSource(databaseUrl).initialize();
  try {
    return await describeSchema(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

describe('interrupted migrations', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let complete: unknown[];

  beforeAll(async () => {
    const uninterrupted = await createMigratedDatabase();
    complete = await schemaOf(uninterrupted.url);
    await uninterrupted.drop();
    database = await createDatabase();
    proxy = await DatabaseProxy.start(database.url);
  });
  afterAll(async () => {
    await proxy.stop();
    await database.drop();
  });

  /** Runs the command repeatedly and kills it with SIGKILL after one more statement that changes something. */
  async function killAfterEachStatement(command: 'run' | 'revert'): Promise<number> {
    const killedAfter = new Set<string>();
    for (;;) {
      const withheld = proxy.withhold((sql) => CHANGES.test(sql) && !killedAfter.has(sql));
      const run = startMigrating(command, proxy.url);
      const answer = await Promise.race([withheld, run.gone.then(() => undefined)]);
      if (answer === undefined) {
        expect({ code: run.process.exitCode, output: run.output() }).toMatchObject({ code: 0 });
        return killedAfter.size;
      }
      killedAfter.add(answer.sql);
      run.process.kill('SIGKILL');
      await run.gone;
    }
  }

  it('migrations killed at any statement resume and produce the same schema', async () => {
    expect(await killAfterEachStatement('run')).toBeGreaterThan(20);
    expect(await schemaOf(database.url)).toEqual(complete);
  });

  it('migrations killed at any statement while reverting can be reverted and applied again', async () => {
    for (let applied = await appliedNames(); applied.length > 0; applied = await appliedNames())
      await killAfterEachStatement('revert');
    const again = startMigrating('run', database.url);
    await again.gone;
    expect({ code: again.process.exitCode, output: again.output() }).toMatchObject({ code: 0 });
    expect(await schemaOf(database.url)).toEqual(complete);
  });

  async function appliedNames(): Promise<unknown[]> {
    const dataSource = await createDataSource(database.url).initialize();
    try {
      return await dataSource.query('SELECT name FROM migrations');
    } finally {
      await dataSource.destroy();
    }
  }
});

describe('migrations applied by two processes', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  beforeAll(async () => {
    database = await createDatabase();
    proxy = await DatabaseProxy.start(database.url);
  });
  afterAll(async () => {
    await proxy.stop();
    await database.drop();
  });

  it('two concurrent migrate processes apply each migration once: the second waits and says so, and both succeed', async () => {
    const withheld = proxy.withhold((sql) => sql.includes('CREATE TABLE IF NOT EXISTS orders'));
    const first = startMigrating('run', proxy.url);
    const answer = (await Promise.race([withheld, first.gone])) as WithheldAnswer;
    const second = startMigrating('run', database.url);
    while (second.process.exitCode === null && !second.output().includes('Waiting'))
      await once(second.process.stdout!, 'data');
    answer.release();
    await Promise.all([first.gone, second.gone]);

    for (const run of [first, second])
      expect({ code: run.process.exitCode, output: run.output() }).toMatchObject({ code: 0 });
    expect(second.output()).toContain('Another process is applying migrations');
    const dataSource = await createDataSource(database.url).initialize();
    const applied: unknown[] = await dataSource.query('SELECT name FROM migrations');
    expect(applied).toHaveLength(dataSource.migrations.length);
    await dataSource.destroy();
  });
});
