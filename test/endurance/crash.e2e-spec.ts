import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { duringLoads } from '../support/load/pauses.js';
import { Workload } from '../support/load/workload.js';
import { type Service, startService } from '../support/service.js';

const KILLS = Math.ceil(Number(process.env.ENDURANCE_SECONDS ?? 60) / 3);
const WORKERS = 6;

describe('a process that is killed under load', () => {
  let database: TestDatabase;
  /** An instance inside the test process, used to read data. */
  let observer: Service;
  let merchant: TestMerchant;
  const documents = Array.from({ length: 4 }, aDocument);
  let running: BuiltService;
  /** The next process starts while the current one works. */
  let spare: Promise<BuiltService>;

  /** Every process that was started, so that all of them are stopped at the end. */
  const started: Promise<BuiltService>[] = [];

  function start(): Promise<BuiltService> {
    const starting = startBuiltService(database.url, { LOG_LEVEL: 'error' });
    started.push(starting);
    return starting;
  }

  beforeAll(async () => {
    database = await createMigratedDatabase();
    observer = await startService({ databaseUrl: database.url, env: { LOG_LEVEL: 'error' } });
    merchant = await aMerchant(observer);
    for (const document of documents) await merchant.credit(document, '100000.00');
    running = await start();
    spare = start();
  });
  afterAll(async () => {
    for (const settled of await Promise.allSettled(started))
      if (settled.status === 'fulfilled') await settled.value.kill();
    await observer.stop();
    await database.drop();
  });

  it(
    `after each of ${KILLS} kills, every answered request is stored exactly once and every unanswered one succeeds when retried`,
    async () => {
      let answered = 0;
      let unanswered = 0;
      for (let kill = 1; kill <= KILLS; kill++) {
        const load = new Workload(merchant.tokens.access_token, `K${kill}`, documents);
        const work = (isOver: () => boolean): Promise<void>[] => [load.work(running.url, WORKERS, isOver)];
        await duringLoads(work, async () => {
          // Kill at a random moment between the first request and the thirtieth response.
          const enough = randomInt(30);
          for (let wait = 0; load.answered < enough && wait < 500; wait++) await sleep(5);
          await sleep(randomInt(20));
          await running.kill();
        });
        answered += load.answered;
        unanswered += load.unanswered;
        await load.expectStored(observer.dataSource);
        await expectInvariants(observer);

        running = await spare;
        if (kill < KILLS) spare = start();
        await load.finish(running.url);
        expect(load.unexpected).toEqual([]);
        await load.expectStored(observer.dataSource);
      }
      await expectInvariants(observer);
      process.stdout.write(
        `${KILLS} kills: ${answered} requests answered before them, ${unanswered} left without an answer\n`,
      );
      // A kill without requests in progress would prove nothing.
      expect(unanswered).toBeGreaterThan(KILLS);
    },
    KILLS * 30_000,
  );
});
