import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { after, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/platform/values/time.js';
import { SweepsService } from '../../src/operations/sweeps.service.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { migrate } from '../support/database.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { FeedReader } from '../support/load/feed-reader.js';
import { duringLoads } from '../support/load/pauses.js';
import { EVENTS, Workload } from '../support/load/workload.js';
import { OwnServer, servers } from '../support/private-server.js';
import { deliver, type Receiver, startReceiver } from '../support/receiver.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';
import type { EndpointWithSecret } from '../support/shop.js';
import { rowsOf } from '../support/wallets.js';
import { anEndpoint, endpointOf } from '../support/webhooks.js';

const KILLS = Math.ceil((Number(process.env.ENDURANCE_SECONDS ?? 60) * 50) / 60);
/** The rounds in which the database is killed, not an instance. */
const OUTAGES = [1, 2, 3].map((nth) => Math.floor((KILLS * nth) / 4));
const WRITERS_OF_EACH = 4;
/** Customers whose cashback becomes available and expires, and orders that expire, while instances are killed. */
const DATED = 60;

describeIf(servers.length > 0, 'The feed under kills, because mysqld or mariadbd is missing')(
  'a feed whose writers, sequencers, sweeps and database are killed',
  () => {
    const server = new OwnServer();
    /** An instance inside the test process. It writes what has dates, reads data, and sweeps only at the end. */
    let observer: Service;
    let merchant: TestMerchant;
    let receiver: Receiver;
    let endpoint: EndpointWithSecret;
    const documents = Array.from({ length: 8 }, aDocument);
    /** The customers with dates, and the orders that expire. */
    const dated: string[] = [];
    const expiring: string[] = [];
    const running = new Set<BuiltService>();

    beforeAll(async () => {
      await server.start({ durable: true });
      await migrate(server.url);
      observer = await startService({ databaseUrl: server.url, env: { LOG_LEVEL: 'silent' } });
      merchant = await aMerchant(observer);
      await writeDates();
      receiver = await startReceiver();
      endpoint = await anEndpoint(merchant, receiver);
    });
    afterAll(async () => {
      for (const instance of running) await instance.kill();
      await receiver?.stop();
      await observer?.stop();
      await server.stop();
    });

    /** Writes, an hour ago, what happens by date from then until the end of the kills. */
    async function writeDates(): Promise<void> {
      await rowsOf(observer, 'UPDATE event_feeds SET kept_since = kept_since - INTERVAL 1 DAY');
      await rowsOf(observer, 'UPDATE event_sweeps SET done_until = done_until - INTERVAL 1 DAY');
      const start = observer.clock.now();
      observer.clock.skip(-HOUR_MS);
      for (const document of documents) await merchant.credit(document, '100000.00');
      for (let nth = 0; nth < DATED; nth++) {
        const at = after(start, ((nth % 20) - 10) * 4 * SECOND_MS * Math.max(1, KILLS / 25));
        dated.push(aDocument());
        const availableAt = after(at, -2 * MINUTE_MS);
        await merchant.credit(dated[nth]!, '5.00', {
          availableAt,
          expiresAt: after(availableAt, 7 * DAY_MS - HOUR_MS + SECOND_MS),
        });
        await merchant.credit(dated[nth]!, '1.00', { expiresAt: at });
        const expires_at = at.toISOString();
        const { id } = await merchant.create({ document: documents[nth % documents.length], expires_at });
        if (nth % 2 === 0) await merchant.hold({ id }, '1.00');
        expiring.push(id);
      }
      observer.clock.skip(HOUR_MS);
    }

    async function start(): Promise<BuiltService> {
      const instance = await startBuiltService(server.url, { LOG_LEVEL: 'fatal' });
      running.add(instance);
      return instance;
    }

    async function kill(instance: BuiltService): Promise<void> {
      await instance.kill();
      running.delete(instance);
    }

    /** Writers work at both instances until one of the two, or the database, has been killed. */
    async function killUnderLoad(instances: BuiltService[], nth: number): Promise<Workload> {
      const load = new Workload(merchant.tokens.access_token, `K${nth}`, documents, 100);
      const work = (isOver: () => boolean): Promise<void>[] =>
        instances.map(({ url }) => load.work(url, WRITERS_OF_EACH, isOver));
      const spare = await duringLoads(work, async () => {
        const started = await start();
        await sleep(randomInt(400));
        if (OUTAGES.includes(nth)) {
          await server.kill();
          await server.start();
        }
        const victim = randomInt(2);
        await kill(instances[victim]!);
        instances[victim] = started;
        await sleep(randomInt(100));
        return started;
      });
      await load.finish(spare.url);
      expect(load.unexpected).toEqual([]);
      return load;
    }

    it(
      `after ${KILLS} kills of instances and ${OUTAGES.length} of the database, the feed has each change once, without gaps, and neither a reader nor a receiver has missed anything`,
      async () => {
        const instances = [await start(), await start()];
        const reader = new FeedReader(merchant.tokens.access_token, () => instances[randomInt(2)]!.url);
        const reading = reader.read();
        const loads: Workload[] = [];
        for (let nth = 1; nth <= KILLS; nth++) loads.push(await killUnderLoad(instances, nth));
        for (const instance of instances) await kill(instance);
        observer.clock.skip(10 * MINUTE_MS);
        await observer.app.get(SweepsService).doAll();
        instances.fill(await start());
        const [feed] = await rowsOf(observer, 'SELECT last_sequence AS last FROM event_feeds');
        reader.end(Number(feed!.last));
        await reading;
        expect(reader.unexpected).toEqual([]);

        const rows = await rowsOf(observer, 'SELECT sequence, id, type FROM events ORDER BY sequence');
        expect(reader.events.map(({ sequence }) => sequence)).toEqual(rows.map((_, at) => at + 1));
        expect(reader.events.map(({ id, sequence, type }) => ({ sequence, id, type }))).toEqual(
          rows.map(({ sequence, id, type }) => ({ sequence: Number(sequence), id: `evt_${String(id)}`, type })),
        );
        expect(new Set(reader.events.map(({ id }) => id)).size).toBe(rows.length);
        for (const load of loads) expectSales(load, reader);
        expectDates(reader);
        await expectDelivered(reader);
        await expectInvariants(observer);
        const unanswered = loads.reduce((sum, load) => sum + load.unanswered, 0);
        process.stdout.write(
          `${KILLS} kills of instances, ${OUTAGES.length} of the database: ${rows.length} events, ${unanswered} requests left without an answer\n`,
        );
        // Kills without requests in progress would prove nothing.
        expect(unanswered).toBeGreaterThan(KILLS);
      },
      120_000 + KILLS * 30_000,
    );

    /** Each sale has the events of its requests, its creation once, all of which were answered in the end. */
    function expectSales({ sales }: Workload, reader: FeedReader): void {
      for (const { orderId, intents } of sales) {
        const types = intents.flatMap(({ kind }) => [...EVENTS[kind]] as string[]);
        expect(reader.typesOf(orderId!)).toEqual(types.filter((type) => type.startsWith('order.')));
        const debit = intents.find(({ kind }) => kind === 'debit');
        if (debit !== undefined)
          expect(reader.typesOf(String(debit.told!.id))).toEqual(types.filter((type) => type.startsWith('cashback.')));
      }
    }

    /** Only what was accepted right before a kill came twice, and nothing overtook another event. */
    async function expectDelivered(reader: FeedReader): Promise<void> {
      for (const instance of running) await kill(instance);
      await rowsOf(
        observer,
        'UPDATE webhook_endpoints SET leased_until = ?, next_attempt_at = ?',
        Array(2).fill(new Date(0)),
      );
      while ((await endpointOf(merchant, endpoint)).behind > 0) await deliver(observer);
      const expected = reader.events
        .filter(({ sequence }) => sequence > endpoint.cursor)
        .map(({ sequence }) => sequence);
      const arrived = receiver.sequences();
      expect([...new Set(arrived)]).toEqual(expected);
      expect(arrived.length - expected.length).toBeLessThanOrEqual(KILLS + OUTAGES.length);
    }

    function expectDates(reader: FeedReader): void {
      const held = ['order.created', 'order.redemption_held', 'order.expired'];
      expect(expiring.map((id) => reader.typesOf(id))).toEqual(
        expiring.map((_, nth) => (nth % 2 === 0 ? held : ['order.created', 'order.expired'])),
      );
      for (const type of ['cashback.available', 'cashback.expiring', 'cashback.expired']) {
        const of = reader.events.filter((event) => event.type === type).map(({ data }) => data.wallet.document);
        expect(of.filter((document) => dated.includes(document)).sort()).toEqual([...dated].sort());
      }
    }
  },
);
