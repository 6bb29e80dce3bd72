import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { run } from '../../tools/support/processes.mjs';

/** The programs that write and read a dump of a server. */
interface DumpPrograms {
  dump: string;
  client: string;
  /** More options of the first. */
  options: string[];
  /** The program that reads binary logs. */
  binlog?: string;
}

/** Those of MySQL cannot read a MariaDB server, and MariaDB installs its own under the names of MySQL's too. */
const PROGRAMS = {
  mariadb: { dump: 'mariadb-dump', client: 'mariadb', options: [], binlog: 'mariadb-binlog' },
  mysql: { dump: 'mysqldump', client: 'mysql', options: ['--set-gtid-purged=OFF'] },
};

/** Returns the programs for the server of the test run, if they are available. */
export async function findDumpPrograms(): Promise<DumpPrograms | undefined> {
  const isMariaDb = (process.env.DATABASE_URL ?? '').startsWith('mariadb:');
  const programs = PROGRAMS[isMariaDb ? 'mariadb' : 'mysql'];
  for (const program of [programs.dump, programs.client]) {
    const { ok, output } = await run(program, ['--version'], { timeoutMs: 10_000 });
    if (!ok || output.includes('MariaDB') !== isMariaDb) return undefined;
  }
  return programs;
}

/** Writes a consistent dump of a database to a file, with the options of docs/operating.md. */
export function dump({ dump, options }: DumpPrograms, url: string, file: string): Promise<void> {
  return runWithFile(dump, ['--single-transaction', '--no-tablespaces', '--hex-blob', ...options], url, file, 'w');
}

/** Reads a dump into an empty database. */
export function restore({ client }: DumpPrograms, url: string, file: string): Promise<void> {
  return runWithFile(client, [], url, file, 'r');
}

async function runWithFile(program: string, options: string[], url: string, file: string, mode: string): Promise<void> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const server = ['--protocol=tcp', `--host=${hostname}`, `--port=${port || 3306}`, `--user=${username || 'root'}`];
  const descriptor = openSync(file, mode);
  const child: ChildProcess = spawn(program, [...server, ...options, pathname.slice(1)], {
    env: { ...process.env, MYSQL_PWD: decodeURIComponent(password) },
    stdio: mode === 'r' ? [descriptor, 'inherit', 'inherit'] : ['ignore', descriptor, 'inherit'],
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  closeSync(descriptor);
  if (code !== 0) throw new Error(`${program} exited with ${code}`);
}
