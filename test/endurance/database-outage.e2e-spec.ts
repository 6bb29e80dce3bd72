import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startPrivateServer } from '../../tools/database/private-server.mjs';
import { findServers } from '../../tools/database/server-binary.mjs';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { migrate } from '../support/database.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, grant, type TestMerchant } from '../support/factories.js';
import { Workload } from '../support/load/workload.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';

const WORKERS = 6;
/** The wait of a worker after a 503: each one leaves a sale that is finished after the outage. */
const PAUSE_MS = 100;
/** The maximum number of seconds for the service to recover after its database does. */
const RECOVERS_WITHIN = 10;

/** Only a private server may be killed, never the one that the test run was given. */
const servers = await findServers();

describeIf(servers.length > 0, 'A killed database, because mysqld or mariadbd is missing')(
  'a database that is killed and restarted',
  () => {
    let folder: string;
    let server: Awaited<ReturnType<typeof startPrivateServer>>;
    let service: BuiltService;
    /** An instance inside the test process, used to read data. It loses its database too. */
    let observer: Service;
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
      await migrate(server.url);
      observer = await startService({ databaseUrl: server.url, env: { LOG_LEVEL: 'silent' } });
      merchant = await aMerchant(observer);
      documents = Array.from({ length: 4 }, aDocument);
      for (const document of documents) await grant(observer, merchant, document, '100000.00');
      service = await startBuiltService(server.url, { LOG_LEVEL: 'fatal' });
    });
    afterAll(async () => {
      await service?.stop();
      await observer?.stop();
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    it.each([1, 2, 3])(
      'outage %i: a killed database loses no answered request, and callers get only 503 with Retry-After',
      async () => {
        const load = new Workload(merchant.tokens.access_token, randomUUID(), documents, PAUSE_MS);
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

        expect(load.unexpected).toEqual([]);
        expect({ refused: load.refused > 0, unanswered: load.unanswered }).toEqual({ refused: true, unanswered: 0 });
        await load.expectStored(observer.dataSource);
        await expectInvariants(observer);
        await load.finish(service.url);
        await load.expectStored(observer.dataSource);
        await expectInvariants(observer);
        process.stdout.write(`${load.answered} requests answered, ${load.refused} refused with 503\n`);
      },
    );
  },
);

/** Whether the service recovers by itself in time. */
async function answersMoreThan(load: Workload, count: number): Promise<boolean> {
  for (const deadline = Date.now() + RECOVERS_WITHIN * 1000; Date.now() < deadline;) {
    if (load.answered > count) return true;
    await sleep(50);
  }
  return false;
}
