import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { readFeed } from '../support/events.js';
import { findingsOf } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { aSandboxMerchant, type Move, SANDBOX, type SandboxShop } from '../support/sandbox.js';
import { type Service, startService } from '../support/service.js';

const DAY_MS = 86_400_000;
const CUSTOMERS = 40;
const KILLS = 25;
const START = Date.now() + DAY_MS;

const day = (number: number): { now: string } => ({ now: new Date(START + number * DAY_MS).toISOString() });

describe('a move that is killed', () => {
  let database: TestDatabase;
  /** An instance inside the test process. It does not sweep. */
  let observer: Service;
  let running: BuiltService | undefined;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    observer = await startService({ databaseUrl: database.url, env: { ...SANDBOX, LOG_LEVEL: 'error' } });
  });
  afterAll(async () => {
    await running?.kill();
    await observer.stop();
    await database.drop();
  });

  /**
   * Sales of two months: some are completed, half of them in one request, some are left, and some hold cashback of a
   * grant. Some customers are debited, also for good, and some wallets are frozen.
   */
  async function sell(shop: SandboxShop, documents: readonly string[]): Promise<void> {
    for (const [at, document] of documents.entries()) {
      await shop.move(day(at * 1.5));
      await shop.granted(document, '10.00');
      const sale = at % 2 === 0 ? await shop.completed({ document }) : await shop.sell({ document });
      if (at % 4 === 1) await shop.voidRefund(await shop.refund(sale, '1.00'));
      if (at % 3 === 0) {
        const debit = await shop.debit({ document, amount: '2.50' });
        if (at % 6 === 0) await shop.voidDebit(debit);
      }
      await shop.hold(await shop.create({ document }), '5.00');
      if (at % 5 === 0) await shop.freeze({ id: (await shop.wallet(document)).id });
    }
  }

  it('does the same as one that is not killed, whichever process continues it', async () => {
    const documents = Array.from({ length: CUSTOMERS }, aDocument);
    const policy = { release_days: 3, validity_days: 40, order_ttl_minutes: 10_000 };
    const [killed, whole] = [await aSandboxMerchant(observer, policy), await aSandboxMerchant(observer, policy)];
    for (const shop of [killed, whole]) await sell(shop, documents);
    const target = day(400);
    await whole.move(target);

    let kills = 0;
    for (let done = false; !done && kills < 400;) {
      running = await startBuiltService(database.url, { ...SANDBOX, LOG_LEVEL: 'error' });
      const client = new Client(running, killed.tokens.access_token).once;
      // The last one is left alone.
      const isKilled = kills < KILLS;
      const move = client.put<Move>('/sandbox/clock', target).catch(() => undefined);
      if (isKilled) await sleep(randomInt(10, 60));
      else await move;
      await running.kill();
      if (isKilled) kills++;
      ({ done } = (await move)?.body ?? { done: false });
      running = undefined;
    }
    // Killed after its commit, before its answer, it is the same again.
    const answer = await killed.move(target);
    const plain = async (shop: SandboxShop): Promise<unknown[]> =>
      (await readFeed(shop)).map(({ type, sequence, timestamp, data: { wallet, amount } }) => {
        const { document, available, pending, held, debt } = wallet ?? {};
        return { type, sequence, timestamp, amount, document, available, pending, held, debt };
      });
    const [ofKilled, ofWhole] = [await plain(killed), await plain(whole)];
    expect(answer).toMatchObject({ now: target.now, done: true, last_sequence: ofWhole.length });
    expect(ofKilled).toEqual(ofWhole);
    expect(await findingsOf(observer)).toEqual([]);
    process.stdout.write(`${kills} kills of moves: ${ofWhole.length} events of ${CUSTOMERS} customers\n`);
    // Moves that were never interrupted would prove nothing.
    expect(kills).toBeGreaterThan(5);
  });
});
