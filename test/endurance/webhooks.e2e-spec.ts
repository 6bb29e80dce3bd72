import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { startBuiltService } from '../support/built-service.js';
import { numberEvents, readFeed } from '../support/events.js';
import { aMerchant } from '../support/factories.js';
import { answerWith, deliver, hang, type Receiver } from '../support/receiver.js';
import { startService } from '../support/service.js';
import { anEndpoint, endpointOf, rowOf, settled, someEvents, until, useWebhooks } from '../support/webhooks.js';

const { service, merchant, aReceiver } = useWebhooks();

const range = (to: number): number[] => Array.from({ length: to }, (_, n) => n + 1);

/** Makes an endpoint due that a killed instance had leased. */
async function endLease({ id }: { id: string }): Promise<void> {
  await service.dataSource.query('UPDATE webhook_endpoints SET leased_until = ? WHERE id = ?', [new Date(0), id]);
}

// First, because the clock of the other process is the real one, and later tests move that of the service.
describe('an instance that is killed between sending an event and storing that it was accepted', () => {
  it('another instance sends the same event after the lease, nothing is lost and nothing overtakes', async () => {
    const receiver = await aReceiver();
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 6);
    const held = 3;
    receiver.answer = (received, response) =>
      (received.event.sequence === held ? hang : answerWith(204))(received, response);
    const built = await startBuiltService(service.databaseUrl);
    try {
      await until('the third event arrives', () => receiver.sequences().at(-1) === held);
      // The other instance leaves it to the one that has the lease.
      await deliver(service);
      expect(receiver.sequences()).toEqual([1, 2, 3]);
    } finally {
      await built.kill();
    }
    receiver.answer = answerWith(204);
    await deliver(service);
    expect(receiver.sequences()).toEqual([1, 2, 3]);
    const { leased_until: leasedUntil } = await rowOf(service, endpoint);
    expect(Number(leasedUntil) - Date.now()).toBeLessThanOrEqual(60_000);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 2, failures: 0 });
    await endLease(endpoint);
    await deliver(service);
    expect(receiver.sequences()).toEqual([1, 2, 3, 3, 4, 5, 6]);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(ids[2]).toBe(ids[3]);
    expect([...new Set(ids)]).toEqual((await readFeed(merchant)).map(({ id }) => id));
  });

  it('an endpoint with a batch gets each event once by its ID and in order, although instances were killed', async () => {
    const receiver = await aReceiver();
    await someEvents(merchant, 12);
    await numberEvents(service);
    const endpoint = await anEndpoint(merchant, receiver, { batch: 8 });
    await merchant.client.post(`/webhook-endpoints/${endpoint.id}/seek`, { after: 0 });
    const sent = (): number => receiver.received.length;
    for (let kill = 0; kill < 3; kill++) {
      const before = sent();
      receiver.answer = (received, response) => (sent() > before + 1 ? hang : answerWith(204))(received, response);
      const built = await startBuiltService(service.databaseUrl);
      try {
        await until('the second batch arrives', () => sent() === before + 2);
        await deliver(service);
        expect(sent()).toBe(before + 2);
      } finally {
        await built.kill();
      }
      const cursor = 8 * (kill + 1);
      expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor, behind: 4, failures: 0 });
      // The next instance repeats these 4 events with 4 more, and then sends 4.
      await someEvents(merchant, 8);
      await deliver(service);
      await endLease(endpoint);
    }
    receiver.answer = answerWith(204);
    await deliver(service);
    expect(receiver.received.map(({ events }) => events.map(({ sequence }) => sequence))).toEqual(
      [
        [1, 8],
        [9, 12],
        [9, 16],
        [17, 20],
        [17, 24],
        [25, 28],
        [25, 32],
        [33, 36],
      ].map(([first, last]) => range(last!).slice(first! - 1)),
    );
    const [, killed, retry] = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(killed).not.toBe(retry);
    const ids = new Set(receiver.received.flatMap(({ events }) => events.map(({ id }) => id)));
    expect([...ids]).toEqual((await readFeed(merchant)).map(({ id }) => id));
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 36, behind: 0, failures: 0 });
  });

  it('an instance that lost its lease while it waited stores nothing, and the events after it come once', async () => {
    const ends: (() => void)[] = [];
    const receiver = await aReceiver((_, response) => void ends.push(() => response.writeHead(500).end()));
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 3);
    await numberEvents(service);
    await until('the event arrives', () => ends.length === 1);
    receiver.answer = answerWith(204);
    service.clock.skip(61_000);
    await numberEvents(service);
    await until('the events arrive', async () => (await endpointOf(merchant, endpoint)).behind === 0);
    ends[0]!();
    await settled(service);
    expect(receiver.sequences()).toEqual([1, 1, 2, 3]);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({
      failures: 0,
      behind: 0,
      last_attempt: { status: 204 },
    });
  });
});

describe('endpoints that do not accept events', () => {
  it('one that never answers and one that fails delay no other endpoint, of this and of another merchant', async () => {
    const other = await aMerchant(service);
    const [dead, failing, good, elsewhere] = [
      ...[await aReceiver(hang), await aReceiver(answerWith(500)), await aReceiver(), await aReceiver()],
    ] as [Receiver, Receiver, Receiver, Receiver];
    await anEndpoint(merchant, dead);
    await anEndpoint(merchant, failing);
    await anEndpoint(merchant, good);
    await anEndpoint(other, elsewhere);
    await someEvents(merchant, 5);
    await someEvents(other, 5);
    await numberEvents(service);
    await until('both have all events', () => good.received.length === 5 && elsewhere.received.length === 5);
    expect({ dead: dead.sequences(), failing: failing.sequences() }).toEqual({ dead: [1], failing: [1] });
    expect([good.sequences(), elsewhere.sequences()]).toEqual([range(5), range(5)]);
  });

  it('an attempt without a response fails after 15 seconds, and a ping after 3', async () => {
    const receiver = await aReceiver(hang);
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 1);
    await numberEvents(service);
    await until('the event arrives', () => receiver.received.length === 1);
    const { status, body: ping } = await merchant.client.post(`/webhook-endpoints/${endpoint.id}/ping`);
    expect({ status, ping }).toMatchObject({
      status: 200,
      ping: { status: null, error: 'no response within 3000 ms', response: null },
    });
    expect(ping.duration_ms).toBeGreaterThanOrEqual(2990);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ last_attempt: null, failures: 0 });
    await settled(service);
    const { last_attempt, failures } = await endpointOf(merchant, endpoint);
    expect({ last_attempt, failures }).toMatchObject({
      ...{ failures: 1, last_attempt: { status: null, error: 'no response within 15000 ms' } },
    });
    expect(last_attempt?.duration_ms).toBeGreaterThanOrEqual(14_990);
  });

  it('of 64 endpoints that are behind at once, all get their events, at most 50 at a time', async () => {
    const waiting: (() => void)[] = [];
    let [open, most] = [0, 0];
    const receiver = await aReceiver((_, response) => {
      most = Math.max(most, ++open);
      response.once('close', () => open--);
      waiting.push(() => response.writeHead(204).end());
    });
    const merchants = [merchant, await aMerchant(service), await aMerchant(service), await aMerchant(service)];
    for (const one of merchants)
      for (const n of range(16)) await anEndpoint(one, { url: `${receiver.url}/${one.id}/${n}` });
    for (const one of merchants) await someEvents(one, 1);
    for (let round = 0; round < 2; round++) await numberEvents(service);
    await until('50 endpoints have their event', () => open >= 50);
    await sleep(300);
    expect(most).toBe(50);
    receiver.answer = answerWith(204);
    for (const end of waiting) end();
    await settled(service);
    await deliver(service);
    expect(new Set(receiver.received.map(({ path }) => path)).size).toBe(64);
  });

  it('an endpoint that is far behind lets others have their turn, and then goes on', async () => {
    const receiver = await aReceiver((_, response) => {
      service.clock.skip(3000);
      response.writeHead(204).end();
    });
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 20);
    await deliver(service);
    expect(receiver.received.length).toBeLessThan(20);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ failures: 0, next_attempt_at: null });
    await deliver(service);
    expect(receiver.sequences()).toEqual(range(20));
  });
});

describe('two instances', () => {
  it('two instances send each of many events to each of many endpoints once and in order', async () => {
    const second = await startService({ databaseUrl: service.databaseUrl, clock: service.clock });
    try {
      const receiver = await aReceiver();
      const merchants = [merchant, await aMerchant(service), await aMerchant(service)];
      for (const one of merchants)
        for (const n of range(5)) await anEndpoint(one, { url: `${receiver.url}/${one.id}/${n}` });
      for (let round = 0; round < 4; round++) {
        await Promise.all(merchants.map((one) => someEvents(one, 15)));
        await Promise.all([numberEvents(service), numberEvents(second), numberEvents(service), numberEvents(second)]);
      }
      const ends = async (): Promise<boolean> => {
        await Promise.all([deliver(service), deliver(second)]);
        return receiver.received.length >= 3 * 5 * 60;
      };
      await until('all events have arrived', ends);
      for (const one of merchants) {
        const ids = (await readFeed(one)).map(({ id }) => id);
        for (const n of range(5)) {
          const mine = receiver.received.filter(({ path }) => path === `/webhooks/${one.id}/${n}`);
          expect(mine.map(({ headers }) => headers['webhook-id'])).toEqual(ids);
        }
      }
    } finally {
      await second.stop();
    }
  });

  it('a shutdown while a receiver does not answer ends at once, and the other instance sends the event again', async () => {
    const second = await startService({ databaseUrl: service.databaseUrl, clock: service.clock });
    const receiver = await aReceiver(hang);
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 2);
    await numberEvents(second);
    await until('the event arrives', () => receiver.received.length === 1);
    const begun = Date.now();
    await second.stop();
    expect(Date.now() - begun).toBeLessThan(10_000);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ failures: 0, last_attempt: null, cursor: 0 });
    receiver.answer = answerWith(204);
    await deliver(service);
    expect(receiver.sequences()).toEqual([1, 1, 2]);
  });
});
