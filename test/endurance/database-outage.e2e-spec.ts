import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import { startPrivateServer } from '../../tools/database/private-server.mjs';
import { findServers } from '../../tools/database/server-binary.mjs';
import { makeTempFolder } from '../../tools/support/temp-folder.mjs';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, grant, type TestMerchant } from '../support/factories.js';
import { Workload } from '../support/load/workload.js';
import { type Service, startService } from '../support/service.js';

const OUTAGES = 3;
const WORKERS = 6;
/** Within how many seconds the service must work again once its database does. */
const RECOVERS_WITHIN = 10;

/** A server that may be killed can only be one of our own: never the one that the run was given. */
const servers = await findServers();

if (servers.length > 0) {
  describe('a database that is killed and comes back', () => {
    let folder: string;
    let server: Awaited<ReturnType<typeof startPrivateServer>>;
    let service: BuiltService;
    /** An instance inside the test, to look on; it loses its database like the other one. */
    let onlooker: Service;
    let merchant: TestMerchant;
    let documents: string[];

    const startServer = (port?: number): ReturnType<typeof startPrivateServer> =>
      startPrivateServer({
        dataDir: path.join(folder, 'data'),
        litter: folder,
        durable: true,
        ...(port !== undefined && { port }),
      });

    beforeAll(async () => {
      folder = makeTempFolder('cashback-outage');
      server = await startServer();
      const schema = await createDataSource(server.url).initialize();
      await schema.runMigrations({ transaction: 'each' });
      await schema.destroy();
      onlooker = await startService({ databaseUrl: server.url, env: { LOG_LEVEL: 'silent' } });
      merchant = await aMerchant(onlooker);
      documents = Array.from({ length: 4 }, aDocument);
      for (const document of documents) await grant(onlooker, merchant, document, '100000.00');
      service = await startBuiltService(server.url, { LOG_LEVEL: 'fatal' });
    });
    afterAll(async () => {
      await service?.stop();
      await onlooker?.stop();
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    it('loses no answered request, and callers see 503 with Retry-After and nothing else', async () => {
      for (let outage = 1; outage <= OUTAGES; outage++) {
        const load = new Workload(merchant.tokens.access_token, `O${outage}`, documents);
        let isOver = false;
        const working = load.work(service.url, WORKERS, () => isOver);
        await sleep(1000);
        await server.kill();
        await sleep(1500);
        const before = load.answered;
        server = await startServer(server.port);
        expect(await answersMoreThan(load, before + WORKERS)).toBe(true);
        isOver = true;
        await working;

        expect(load.surprises).toEqual([]);
        expect({ comeAgain: load.comeAgain > 0, unanswered: load.unanswered }).toEqual({
          comeAgain: true,
          unanswered: 0,
        });
        await load.expectKept(onlooker.dataSource);
        await expectInvariants(onlooker);
        await load.finish(service.url);
        await load.expectKept(onlooker.dataSource);
        process.stdout.write(
          `outage ${outage}: ${load.answered} requests answered, ${load.comeAgain} told to come again\n`,
        );
      }
      await expectInvariants(onlooker);
    });
  });

  /** Whether the service recovers by itself, in time. */
  async function answersMoreThan(load: Workload, count: number): Promise<boolean> {
    for (const deadline = Date.now() + RECOVERS_WITHIN * 1000; Date.now() < deadline;) {
      if (load.answered > count) return true;
      await sleep(50);
    }
    return false;
  }
} else {
  describe('a database that is killed, on a machine without a mysqld or mariadbd to kill', () => {
    it('can not be seen: no program of a server is found', async () => {
      expect(await findServers()).toEqual([]);
      await expect(startPrivateServer({ dataDir: path.join(tmpdir(), 'cashback-nowhere') })).rejects.toThrow(
        'There is no mysqld or mariadbd on this machine.',
      );
    });
  });
}
