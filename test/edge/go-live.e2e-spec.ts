import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import { type Edge, hasHaproxy, startEdge } from '../../tools/clusters/haproxy.mjs';
import { makeTempFolder, PROJECT } from '../../tools/support/processes.mjs';
import { runNode } from '../support/build.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { makeCertificate } from '../support/certificate.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { BEHIND_EDGE } from '../support/edge.js';
import { describeIf } from '../support/requirements.js';
import { TEST_SECRET } from '../support/service.js';
import { hasShell, Shell } from '../support/shell.js';

const FLUSH = 'innodb_flush_log_at_trx_commit';

const read = (file: string): string => readFileSync(file, 'utf8');
const PAGE = read('docs/go-live.md');

/** The commands of the first block, each with what its comment says that it prints. The first lines print nothing. */
const [, BLOCK = ''] = /^```sh\n(.*?)^```$/ms.exec(PAGE) ?? [];
const CHECKS = [...BLOCK.matchAll(/^(.*\S) +# (.+)$/gm)].map(([, command = '', printed = '']) => ({
  command,
  printed,
}));
const PREPARATION = BLOCK.slice(0, BLOCK.indexOf(CHECKS[0]?.command ?? ''));

describe('the switches of docs/go-live.md', () => {
  const known = ['.env.example', 'ops/edge.cfg', 'Dockerfile'].map(read).join('\n');
  const names = [...PAGE.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name]) => name!);

  it('each variable in the first column exists', () => {
    expect(names).toContain('TRUST_PROXY');
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(known))).toEqual([]);
  });
});

const describeAll = describeIf((await hasHaproxy()) && hasShell, 'docs/go-live.md, because HAProxy or curl is missing');

describeAll('a service that went live', () => {
  const PASSWORD = 'only-in-this-test';
  let database: TestDatabase;
  let root: mysql.Connection;
  let flush: number;
  let users: string[];
  let folder: string;
  let service: BuiltService;
  let edge: Edge;
  let shell: Shell;

  /** The URL of the database for a user. */
  function urlOf(user: string): string {
    const url = new URL(database.url);
    [url.username, url.password] = [user, PASSWORD];
    return url.href;
  }

  beforeAll(async () => {
    folder = makeTempFolder('cashback-go-live');
    database = await createDatabase();
    root = await mysql.createConnection(database.url.replace(/^mariadb:/, 'mysql:'));
    // As the page demands. The server of the tests is faster.
    const [rows] = await root.query<mysql.RowDataPacket[]>(`SELECT @@${FLUSH} AS flush`);
    flush = Number(rows[0]?.flush);
    await root.query(`SET GLOBAL ${FLUSH} = 1`);
    const name = new URL(database.url).pathname.slice(1);
    const prefix = name.replace('cashback_test', 'u');
    users = [prefix, `${prefix}_migrations`];
    const [, sql = ''] = /^## Database$.*?^```sql\n(.*?)^```$/ms.exec(read('docs/operating.md')) ?? [];
    for (const statement of sql.split(';\n').filter((each) => each.trim() !== '')) {
      // The server of the tests has no certificate.
      const own = statement.replaceAll('cashback.*', `${name}.*`).replace(' REQUIRE SSL', '').replace('…', PASSWORD);
      await root.query(own.replace(/cashback(\w*)@'[^']+'/, `${prefix}$1@'%'`));
    }
    await runNode('dist/src/migrate.js', ['run'], { DATABASE_URL: urlOf(users[1]!) });

    const env = {
      ...BEHIND_EDGE,
      DATABASE_URL: urlOf(users[0]!),
      JWT_SECRET: TEST_SECRET,
      METRICS_TOKEN: 'a-token-of-this-test',
      DOCS: 'false',
      DOCUMENT_CHECK_DIGITS: 'true',
    };
    const file = path.join(folder, 'env');
    writeFileSync(
      file,
      Object.entries(env)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    service = await startBuiltService(env.DATABASE_URL, env);
    const certificate = makeCertificate(folder);
    edge = await startEdge([service.url], { EDGE_CERTIFICATE: certificate.file });
    shell = new Shell();
    await shell.run(`export CURL_CA_BUNDLE='${certificate.file}'`);
    const prepared = PREPARATION.replace('/opt/cashback-order-service', PROJECT)
      .replace('api.shop.example:443', new URL(edge.url).host)
      .replace('http://127.0.0.1:3001', service.url)
      .replace('/etc/cashback-order-service.env', file);
    await shell.run(prepared);
  });
  afterAll(async () => {
    shell?.end();
    await edge?.stop();
    await service?.stop();
    for (const user of users ?? []) await root.query(`DROP USER ${user}`);
    await root?.query(`SET GLOBAL ${FLUSH} = ${flush}`);
    await root?.end();
    await database?.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(CHECKS)('`$command` prints `$printed`', async ({ command, printed }) => {
    expect((await shell.run(command)).trim()).toBe(printed);
  });
});
