import { cpSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { query } from '../../tools/database/connection.mjs';
import { run } from '../../tools/support/processes.mjs';
import { AdminCommandLine } from '../support/admin.js';
import { migrate } from '../support/database.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { duringLoads, untilAnsweredAgain } from '../support/load/pauses.js';
import { Workload } from '../support/load/workload.js';
import { OwnServer, servers } from '../support/private-server.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';

const mariadb = servers.find(({ flavour }) => flavour === 'mariadb');
const program = 'mariadb-backup';
const isInstalled = (await run(program, ['--version'], { timeoutMs: 10_000 })).ok;

describeIf(mariadb && isInstalled, 'Physical backups, because MariaDB or mariadb-backup is missing')(
  'a database that is restored from the files of a server',
  () => {
    const [original, restored] = [new OwnServer(), new OwnServer()];
    const services: Service[] = [];

    async function serve(server: OwnServer): Promise<Service> {
      const service = await startService({ databaseUrl: server.url, env: { LOG_LEVEL: 'error' } });
      services.push(service);
      return service;
    }

    beforeAll(async () => {
      await original.start({ server: mariadb! });
      await migrate(original.url);
    });
    afterAll(async () => {
      for (const service of services) await service.stop();
      for (const server of [restored, original]) await server.stop();
    });

    /** The version of each order by its ID. */
    async function versions({ url }: OwnServer): Promise<Map<string, number>> {
      const rows = await query(url, 'SELECT id, version FROM orders');
      return new Map(rows.map(({ id, version }) => [String(id), Number(version)]));
    }

    async function backUp(...args: string[]): Promise<void> {
      const { ok, output } = await run(program, ['--no-defaults', ...args]);
      if (!ok) throw new Error(output);
    }

    /** The commands of docs/operating.md, for a server that is not the only one of its machine. */
    async function restoreFiles(): Promise<void> {
      const copy = path.join(original.folder, 'copy');
      const data = `--datadir=${path.join(original.folder, 'data')}`;
      const server = ['--protocol=tcp', '--host=127.0.0.1', `--port=${new URL(original.url).port}`, '--user=root'];
      await backUp('--backup', data, ...server, `--target-dir=${copy}`);
      await backUp('--prepare', `--target-dir=${copy}`);
      cpSync(copy, path.join(restored.folder, 'data'), { recursive: true });
    }

    it('has all that was answered before the copy began, and each later request entirely or not at all', async () => {
      const service = await serve(original);
      const merchant = await aMerchant(service);
      const documents = Array.from({ length: 6 }, aDocument);
      for (const document of documents) await merchant.credit(document, '100000.00');
      const load = new Workload(merchant.tokens.access_token, 'S', documents);
      const before = await duringLoads(
        (isOver) => [load.work(service.url, 6, isOver)],
        async () => {
          await untilAnsweredAgain([load], 100);
          const answered = await versions(original);
          await restoreFiles();
          await untilAnsweredAgain([load], 100);
          return answered;
        },
      );
      expect(load.unexpected).toEqual([]);
      await restored.start({ server: mariadb! });

      const there = await versions(restored);
      for (const [id, version] of before) expect(there.get(id)).toBeGreaterThanOrEqual(version);
      const newer = [...(await versions(original))].filter(([id, version]) => there.get(id) !== version);
      process.stdout.write(`a copy of the files under load: ${there.size} orders; ${newer.length} changed later\n`);
      // Otherwise this would prove nothing.
      expect(Math.min(before.size, newer.length)).toBeGreaterThan(0);

      const { code, stdout } = await new AdminCommandLine(await serve(restored)).run('reconcile');
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"findings":0') });
    });
  },
);
