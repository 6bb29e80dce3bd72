import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { SweepsService } from '../../src/operations/sweeps.service.js';
import { SequencerService } from '../../src/events/sequencer.service.js';
import { newId } from '../../src/platform/values/ids.js';
import { createDataSource } from '../../src/schema.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { eventsOf, eventWalletOf, expectComplete, numberEvents, readFeed } from '../support/events.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import type { FeedEvent } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { type Row, rowsOf } from '../support/wallets.js';

const { service } = useService();
let second: Service;
let merchant: TestMerchant;
let clients: Client[];

beforeAll(async () => {
  second = await startService({ databaseUrl: service.databaseUrl, clock: service.clock });
});
afterAll(() => second.stop());
beforeEach(async () => {
  merchant = await aMerchant(service, { redeemShareBps: 10_000 });
  clients = [merchant.client, new Client(second, merchant.client.token)];
});

const numberAtOnce = (): Promise<unknown> => Promise.all([numberEvents(service), numberEvents(second)]);
const client = (at: number): Client => clients[at % 2]!;

/** Runs a statement in its own transaction. @returns a function that commits it, which releases its locks. */
async function lockRows(sql: string, values: unknown[] = []): Promise<() => Promise<void>> {
  const own = await createDataSource(service.databaseUrl).initialize();
  const runner = own.createQueryRunner();
  await runner.startTransaction('REPEATABLE READ');
  await runner.query(sql, values);
  return async () => {
    await runner.commitTransaction();
    await runner.release();
    await own.destroy();
  };
}

const NEW_WALLET = `
  INSERT INTO wallets (id, merchant_id, document, debt_cents, balance_cents, available_cents, pending_cents, held_cents,
                       available_as_of, available_until, last_seq, created_at)
  VALUES (?, ?, ?, 700, 0, 0, 0, 0, ?, '9999-12-31 23:59:59.999', 0, ?)`;

function newWallet(document: string): unknown[] {
  const at = service.clock.now();
  return [newId(at), merchant.id, document, at, at];
}

describe('concurrent events', () => {
  it('16 operations at once on two instances have the numbers 1 to n and one event per version of the order', async () => {
    const document = await merchant.customerWith('100.00');
    const orders = await atOnce(4, () => merchant.create({ document }));
    const amounts = (at: number): string => `${1 + (at % 7)}.00`;
    await Promise.all([
      atOnce(16, (at) => client(at).put(`/orders/${orders[at % 4]!.id}/redemption`, { amount: amounts(at) })),
      numberAtOnce(),
    ]);
    await Promise.all([
      atOnce(16, (at) => client(at).post(`/orders/${orders[at % 4]!.id}/${at % 3 === 0 ? 'cancel' : 'complete'}`)),
      numberAtOnce(),
    ]);
    await numberAtOnce();
    const events = await eventsOf(service, merchant);
    expectComplete(events);
    for (const { id } of orders) {
      const { version, status } = await merchant.order({ id });
      const last = events.findLast(({ data }) => data.order?.id === id);
      expect(last?.data.order).toMatchObject({ version, status });
    }
    expect(events.at(-1)?.data.wallet).toEqual(await eventWalletOf(merchant, document));
  });

  it('a reader that polls while 8 writers work on two instances reads each event once and in order', async () => {
    const { databaseUrl, clock } = service;
    const instances = [await startService({ databaseUrl, clock }), await startService({ databaseUrl, clock })];
    for (const { app } of instances) app.get(SweepsService).start();
    clients = instances.map((instance) => new Client(instance, merchant.client.token));
    let isWriting = true;
    const read: FeedEvent[] = [];
    const reader = async (): Promise<void> => {
      for (let after = 0, isLast = false; !isLast;) {
        isLast = !isWriting && (await rowsOf(service, 'SELECT id FROM event_outbox LIMIT 1')).length === 0;
        const events = await readFeed(merchant, after, '&limit=7');
        read.push(...events);
        after = read.at(-1)?.sequence ?? 0;
      }
    };
    const writer = async (at: number): Promise<void> => {
      for (let round = 0; round < 12; round++) {
        const order = await merchant.with(client(at)).create();
        await client(at).post(`/orders/${order.id}/${round % 2 === 0 ? 'cancel' : 'complete'}`);
      }
    };
    await Promise.all([reader(), atOnce(8, writer).finally(() => (isWriting = false))]).finally(() =>
      Promise.all(instances.map((instance) => instance.stop())),
    );
    expect(read).toHaveLength(2 * 96);
    expectComplete(read);
    expect(await readFeed(merchant)).toEqual(read);
  });

  it('a use case that is retried after a conflict records its events once', async () => {
    const order = await merchant.orderWith('50.00');
    let retries = 0;
    service.app.get(UnitOfWork).retries.subscribe(() => retries++);
    // The first attempt waits for its last statement, which stores the events, until the lock timeout.
    const release = await lockRows('SELECT id FROM event_outbox FOR UPDATE');
    // On a slow machine the service gives up before its first retry. Then the client retries.
    const hold = async (): Promise<Answer> => {
      const answer = await merchant.client.once.put(`/orders/${order.id}/redemption`, { amount: '10.00' });
      return answer.status === 503 && ++retries ? hold() : answer;
    };
    let isHeld = false;
    const held = hold().finally(() => (isHeld = true));
    while (retries === 0 && !isHeld) await sleep(20);
    await release();
    expect(retries).toBeGreaterThan(0);
    expect(await held).toMatchObject({ status: 200, body: { version: 2 } });
    const events = await eventsOf(service, merchant);
    expect(events.map(({ type }) => type)).toEqual(['cashback.granted', 'order.created', 'order.redemption_held']);
    expectComplete(events);
  });

  it.each([
    ['a change', '50.00', 'UPDATE wallets SET debt_cents = 700 WHERE document = ?', (document: string) => [document]],
    ['the creation', '0.00', NEW_WALLET, newWallet],
  ])('an expiry that waits for %s of the wallet says what the wallet has after it', async (_, granted, sql, values) => {
    const document = aDocument();
    if (granted !== '0.00') await merchant.credit(document, granted);
    await merchant.create({ document });
    const release = await lockRows(sql, values(document));
    service.clock.skip(30 * 60_000);
    const expiry = numberEvents(service);
    await sleep(200);
    await release();
    await expiry;
    const event = (await eventsOf(service, merchant)).at(-1);
    expect(event).toMatchObject({ type: 'order.expired', data: { wallet: { debt: '7.00' } } });
    expect(event?.data.wallet).toEqual(await eventWalletOf(merchant, document));
  });

  it('orders that expire while their customers get their first cashback: the last event has it', async () => {
    const documents = Array.from({ length: 100 }, aDocument);
    for (const document of documents) await merchant.create({ document });
    service.clock.skip(30 * 60_000);
    const grants = documents.values();
    const grantAll = async (): Promise<void> => {
      for (const document of grants) await merchant.credit(document, '5.00');
    };
    await Promise.all([numberAtOnce(), ...Array.from({ length: 6 }, grantAll)]);
    const events = await eventsOf(service, merchant, '&types=order.expired,cashback.granted');
    const last = new Map(events.map(({ data: { wallet } }) => [wallet.document, wallet]));
    expect(last.size).toBe(100);
    for (const { available } of last.values()) expect(available).toBe('5.00');
  });
});

describe('a backlog of events', () => {
  it('events of 60 merchants are numbered by two instances, so that a long backlog delays nobody', async () => {
    const merchants = await atOnce(60, () => aMerchant(service));
    const at = service.clock.now();
    // The first merchant, in the order of the IDs too, has 9,000 events before those of the others.
    const rows = [...Array<TestMerchant>(9000).fill(merchants[0]!), ...merchants, ...merchants].map(({ id }) => [
      id,
      newId(at),
      'order.renewed',
      newId(at),
      '{"order":{},"wallet":{}}',
      at,
    ]);
    await rowsOf(
      service,
      'INSERT INTO event_outbox (merchant_id, event_id, type, subject_id, data, occurred_at) VALUES ?',
      [rows],
    );
    const left = async (): Promise<Row[]> =>
      rowsOf(service, 'SELECT merchant_id AS id, COUNT(*) AS count FROM event_outbox GROUP BY merchant_id');
    // Each round numbers the events of 50 merchants.
    for (let round = 0; round < 8; round++) await service.app.get(SequencerService).run();
    expect((await left()).map(({ id }) => id)).toEqual([merchants[0]!.id]);
    await numberAtOnce();
    await numberEvents(service);
    expect(await left()).toEqual([]);
    const feeds = await rowsOf(
      service,
      'SELECT merchant_id AS id, last_sequence AS last, COUNT(*) AS count, MAX(sequence) AS max FROM event_feeds JOIN events USING (merchant_id) WHERE merchant_id IN (?) GROUP BY merchant_id, last_sequence',
      [merchants.map(({ id }) => id)],
    );
    expect(feeds).toHaveLength(60);
    for (const { id, last, count, max } of feeds)
      expect([last, Number(count), max]).toEqual(Array(3).fill(id === merchants[0]!.id ? 9002 : 2));
  });

  it('the sequencer goes on after events whose clock is ahead', async () => {
    const { id } = merchant;
    const ahead = new Date(+service.clock.now() + 3_600_000);
    const rows = Array.from({ length: 450 }, () => [id, newId(ahead), 'order.renewed', newId(ahead), '{}', ahead]);
    await rowsOf(
      service,
      'INSERT INTO event_outbox (merchant_id, event_id, type, subject_id, data, occurred_at) VALUES ?',
      [rows],
    );
    await numberEvents(service);
    expect(await rowsOf(service, 'SELECT last_sequence AS last FROM event_feeds WHERE merchant_id = ?', [id])).toEqual([
      { last: 450 },
    ]);
  });
});
