import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import { createDatabase, DATABASE_NAME } from '../../tools/database/connection.mjs';
import { run } from '../../tools/support/processes.mjs';
import { AdminCommandLine } from '../support/admin.js';
import { migrate } from '../support/database.js';
import { dump, findDumpPrograms, restore } from '../support/dump.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { Workload } from '../support/load/workload.js';
import { OwnServer, servers } from '../support/private-server.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';

const TABLES = ['orders', 'refunds', 'wallets', 'cashback_credits', 'cashback_holds', 'cashback_entries', 'sessions'];
/** The number of answered requests before the dump, and again after it. */
const REQUESTS = 60;

const mariadb = servers.find(({ flavour }) => flavour === 'mariadb');
const programs = await findDumpPrograms();

describeIf(mariadb && programs?.binlog, 'Point-in-time recovery, because MariaDB or mariadb-binlog is missing')(
  'a database that is restored to the moment before a mistake',
  () => {
    const server = new OwnServer();
    const { folder } = server;
    const [file, changes] = [path.join(folder, 'dump.sql'), path.join(folder, 'changes.sql')];
    let operator: mysql.Connection;
    let service: Service;

    beforeAll(async () => {
      await server.start({ server: mariadb!, durable: false, options: ['--log-bin=binlog', '--server-id=1'] });
      await migrate(server.url);
      operator = await mysql.createConnection(server.url.replace(/^mariadb:/, 'mysql:'));
      service = await startService({ databaseUrl: server.url, env: { LOG_LEVEL: 'error' } });
    });
    afterAll(async () => {
      await service?.stop();
      await operator?.end();
      await server.stop();
    });

    const rows = async (): Promise<unknown> => {
      const queries = TABLES.map((table) => operator.query(`SELECT * FROM ${table} ORDER BY 1, 2, 3`));
      return (await Promise.all(queries)).map(([found]) => found);
    };

    const binlog = async (...args: string[]): Promise<string> => {
      const { ok, output } = await run(programs!.binlog!, args);
      if (!ok) throw new Error(output);
      return output;
    };

    /** Restores the dump and replays the binary logs from its position to the transaction that drops a table. */
    async function restoreBeforeMistake(): Promise<void> {
      const [, log = '', start] = /MASTER_LOG_FILE='(.+)', MASTER_LOG_POS=(\d+)/.exec(readFileSync(file, 'utf8')) ?? [];
      const inFolder = (name: string): string => path.join(folder, 'data', name);
      const [logs] = await operator.query<mysql.RowDataPacket[]>('SHOW BINARY LOGS');
      const files = logs.map(({ Log_name: name }) => String(name)).filter((name) => name >= log);
      expect(files.length).toBeGreaterThan(1);
      const events = await binlog('--base64-output=DECODE-ROWS', inFolder(files.at(-1)!));
      const transactions = events.slice(0, events.indexOf('DROP TABLE')).matchAll(/^# at (\d+)\n.*GTID/gm);
      const stop = [...transactions].at(-1)?.[1];

      await operator.query(`DROP DATABASE ${DATABASE_NAME}`);
      await createDatabase(new URL('/', server.url).href);
      await operator.query(`USE ${DATABASE_NAME}`);
      await restore(programs!, server.url, file);
      const limits = [`--start-position=${start}`, `--stop-position=${stop}`];
      writeFileSync(changes, await binlog(`--database=${DATABASE_NAME}`, ...limits, ...files.map(inFolder)));
      await restore(programs!, server.url, changes);
    }

    it('a dump and the binary logs since it have every row that was there before the mistake', async () => {
      const merchant = await aMerchant(service);
      const documents = Array.from({ length: 6 }, aDocument);
      for (const document of documents) await merchant.credit(document, '1000.00');
      const load = new Workload(merchant.tokens.access_token, 'S', documents);
      const work = (answered: number): Promise<void> => load.work(service.url, 4, () => load.answered >= answered);
      await work(REQUESTS);
      await dump({ ...programs!, options: ['--master-data=2'] }, server.url, file);
      await work(2 * REQUESTS);
      await operator.query('FLUSH BINARY LOGS');
      await work(3 * REQUESTS);
      expect(load.unexpected).toEqual([]);
      const before = await rows();
      await operator.query('SET foreign_key_checks = 0');
      await operator.query('DROP TABLE orders');
      await operator.query('SET foreign_key_checks = 1');

      await restoreBeforeMistake();
      expect(await rows()).toEqual(before);
      const { code, stdout } = await new AdminCommandLine(service).run('reconcile');
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"findings":0') });
    });
  },
);
