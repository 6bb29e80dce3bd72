import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { appendEvents, numberEvents, readFeed } from '../support/events.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant } from '../support/factories.js';
import { type Answering, answerWith, deliver, type Received, type Receiver } from '../support/receiver.js';
import { anEndpoint, endpointOf, rowOf, settled, someEvents, until, useWebhooks } from '../support/webhooks.js';

const { service, merchant, aReceiver } = useWebhooks();

const MIB = 1024 * 1024;

/** The sequences of each request. */
const batchesOf = ({ received }: Receiver): number[][] =>
  received.map(({ events }) => events.map(({ sequence }) => sequence));

/** Holds the first request until the test releases it, and accepts the others. */
function heldOnce(): { answer: Answering; isHolding: () => boolean; release: (status: number) => void } {
  let held: ((status: number) => void) | undefined;
  return {
    answer: (_, response) => {
      if (held !== undefined) return void response.writeHead(204).end();
      held = (status) => void response.writeHead(status).end();
    },
    isHolding: () => held !== undefined,
    release: (status) => held!(status),
  };
}

describe('what a batch has', () => {
  it('a batch has what waits, in order, at most batch events, as GET /events returns them, and is signed', async () => {
    const receiver = await aReceiver();
    const endpoint = await anEndpoint(merchant, receiver, { batch: 10 });
    await someEvents(merchant, 25);
    await deliver(service);
    const feed = await readFeed(merchant);
    const expected = [feed.slice(0, 10), feed.slice(10, 20), feed.slice(20)];
    expect(receiver.received.map(({ raw }) => raw)).toEqual(expected.map((data) => JSON.stringify({ data })));
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(
      expected.map((events) => events.at(-1)!.id),
    );
    for (const { raw, headers } of receiver.received) {
      const signed = headers as Record<string, string>;
      expect(new Webhook(endpoint.secret).verify(raw, signed)).toEqual(JSON.parse(raw));
      expect(() => new Webhook(endpoint.secret).verify(raw.replace('granted', 'voided'), signed)).toThrow();
    }
    expect(receiver.connections()).toBe(1);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({
      ...{ batch: 10, cursor: 25, behind: 0, failures: 0 },
      last_attempt: { event_id: feed.at(-1)!.id, status: 204 },
    });
  });

  it('one event that waits, and a ping, are a list of one in a batch above 1, and no list otherwise', async () => {
    for (const batch of [2, 1]) {
      const receiver = await aReceiver();
      const { id, secret } = await anEndpoint(merchant, receiver, { batch });
      await someEvents(merchant, 1);
      await deliver(service);
      const ping = await merchant.client.post(`/webhook-endpoints/${id}/ping`);
      expect(ping.body).toMatchObject({ status: 204, event_id: receiver.received[1]?.event.id });
      const bodies = receiver.received.map(({ raw, headers }) =>
        new Webhook(secret).verify(raw, headers as Record<string, string>),
      );
      const single = [{ type: 'cashback.granted' }, { id: ping.body.event_id, type: 'ping' }];
      expect(bodies).toMatchObject(batch > 1 ? single.map((event) => ({ data: [event] })) : single);
    }
  });

  it('of a backlog all batches but the last one are full, whatever their size', async () => {
    await someEvents(merchant, 1);
    await numberEvents(service);
    for (const [batch, sizes] of [
      [30, [30, 30, 30, 30, 30, 30, 30, 30, 10]],
      [60, [60, 60, 60, 60, 10]],
      [100, [100, 100, 50]],
    ] as const) {
      const receiver = await aReceiver();
      const { cursor } = await anEndpoint(merchant, receiver, { batch });
      await appendEvents(service, merchant, 250, 'cashback.granted');
      await deliver(service);
      expect(batchesOf(receiver).map(({ length }) => length)).toEqual(sizes);
      expect(receiver.sequences()).toEqual(Array.from({ length: 250 }, (_, at) => cursor + 1 + at));
    }
  });

  it('a batch of events with large metadata ends before 1 MiB, and the next ones have the others', async () => {
    const receiver = await aReceiver();
    const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, '€'.repeat(500)]));
    await merchant.completed({ metadata });
    const [, completed] = await numberEvents(service).then(() => readFeed(merchant));
    const endpoint = await anEndpoint(merchant, receiver, { batch: 100 });
    await merchant.client.post(`/webhook-endpoints/${endpoint.id}/seek`, { after: 0 });
    await appendEvents(service, merchant, 80, 'order.completed');
    await deliver(service);
    const sizes = receiver.received.map(({ raw }) => Buffer.byteLength(raw));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MIB);
    const whole = receiver.received.filter(({ events }) => events.at(-1)!.sequence < 82);
    const more = Buffer.byteLength(JSON.stringify(completed));
    for (const { raw } of whole.slice(1)) expect(Buffer.byteLength(raw) + more).toBeGreaterThan(MIB);
    expect(receiver.sequences()).toEqual(Array.from({ length: 82 }, (_, at) => at + 1));
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 82, behind: 0 });
  });

  it('a batch has the events of the types of the endpoint only, and the cursor passes the others', async () => {
    const receiver = await aReceiver();
    const endpoint = await anEndpoint(merchant, receiver, { batch: 3, types: ['order.completed'] });
    for (let order = 0; order < 5; order++) {
      await merchant.completed();
      await someEvents(merchant, 2);
    }
    await deliver(service);
    const feed = await readFeed(merchant);
    const completed = feed.filter(({ type }) => type === 'order.completed');
    expect(receiver.received.map(({ events }) => events)).toEqual([completed.slice(0, 3), completed.slice(3)]);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: feed.length, behind: 0 });
  });
});

describe('the outcome of a batch', () => {
  it('the cursor advances with each accepted batch, and not before', async () => {
    const gate = heldOnce();
    const receiver = await aReceiver(gate.answer);
    const endpoint = await anEndpoint(merchant, receiver, { batch: 4 });
    await someEvents(merchant, 6);
    await numberEvents(service);
    await until('the first batch arrives', gate.isHolding);
    expect((await endpointOf(merchant, endpoint)).cursor).toBe(0);
    let cursorAtSecond: unknown;
    receiver.answer = (_, response) =>
      void rowOf(service, endpoint).then(({ cursor }) => {
        cursorAtSecond = Number(cursor);
        response.writeHead(204).end();
      });
    gate.release(204);
    await settled(service);
    expect(batchesOf(receiver)).toEqual([
      [1, 2, 3, 4],
      [5, 6],
    ]);
    expect({ cursorAtSecond, ...(await endpointOf(merchant, endpoint)) }).toMatchObject({
      ...{ cursorAtSecond: 4, cursor: 6 },
    });
  });

  it('a refused batch moves nothing, and its retry has more events and another webhook-id', async () => {
    const receiver = await aReceiver(answerWith(500));
    const endpoint = await anEndpoint(merchant, receiver, { batch: 10 });
    await someEvents(merchant, 4);
    await deliver(service);
    const [refused] = receiver.received as [Received];
    expect(await endpointOf(merchant, endpoint)).toMatchObject({
      ...{ cursor: 0, behind: 4, failures: 1 },
      last_attempt: { event_id: refused.events[3]!.id, status: 500 },
    });
    await someEvents(merchant, 3);
    await deliver(service);
    expect(receiver.received).toHaveLength(1);
    receiver.answer = answerWith(204);
    service.clock.skip(10_000);
    await deliver(service);
    expect(batchesOf(receiver)).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4, 5, 6, 7],
    ]);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(ids).toEqual([refused.event.id, receiver.received[1]!.event.id]);
    expect(ids[0]).not.toBe(ids[1]);
    expect(new Set(receiver.received.flatMap(({ events }) => events.map(({ id }) => id))).size).toBe(7);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 7, behind: 0, failures: 0 });
  });

  it('a batch that is refused after an accepted one is the only one that is sent again', async () => {
    const receiver = await aReceiver(({ events }, response) =>
      response.writeHead(events[0]!.sequence === 4 ? 503 : 204).end(),
    );
    const endpoint = await anEndpoint(merchant, receiver, { batch: 3 });
    await someEvents(merchant, 8);
    await deliver(service);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 3, behind: 5, failures: 1 });
    receiver.answer = answerWith(204);
    service.clock.skip(10_000);
    await deliver(service);
    expect(batchesOf(receiver)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
      [4, 5, 6],
      [7, 8],
    ]);
  });
});

describe('a change of batch', () => {
  it('an endpoint that is behind goes on after its cursor with the new batch', async () => {
    const receiver = await aReceiver(answerWith(500));
    const endpoint = await anEndpoint(merchant, receiver);
    const replace = (members: object) =>
      merchant.client.put(`/webhook-endpoints/${endpoint.id}`, { url: receiver.url, ...members });
    await someEvents(merchant, 6);
    await deliver(service);
    receiver.answer = answerWith(204);
    expect((await replace({ batch: 4 })).body).toMatchObject({ batch: 4, cursor: 0, behind: 6, failures: 0 });
    await deliver(service);
    expect((await replace({})).body).toMatchObject({ batch: 1, cursor: 6 });
    await someEvents(merchant, 2);
    await deliver(service);
    expect(batchesOf(receiver)).toEqual([[1], [1, 2, 3, 4], [5, 6], [7], [8]]);
    expect(receiver.received.map(({ raw }) => raw.startsWith('{"data":['))).toEqual([false, true, true, false, false]);
  });

  it('a change of batch during a delivery wins over its outcome, a success or a failure', async () => {
    for (const status of [204, 500]) {
      const gate = heldOnce();
      const receiver = await aReceiver(gate.answer);
      const endpoint = await anEndpoint(merchant, receiver, { batch: 2 });
      const [a, b, c] = [1, 2, 3].map((n) => endpoint.cursor + n);
      await someEvents(merchant, 3);
      await numberEvents(service);
      await until('the first batch arrives', gate.isHolding);
      await merchant.client.put(`/webhook-endpoints/${endpoint.id}`, { url: receiver.url, batch: 3 });
      gate.release(status);
      await settled(service);
      await deliver(service);
      expect(batchesOf(receiver)).toEqual([
        [a, b],
        [a, b, c],
      ]);
      expect(await endpointOf(merchant, endpoint)).toMatchObject({ batch: 3, cursor: c, failures: 0 });
    }
  });

  it('a seek back repeats events in batches from there', async () => {
    const receiver = await aReceiver();
    const { id } = await anEndpoint(merchant, receiver, { batch: 2 });
    await someEvents(merchant, 4);
    await deliver(service);
    await merchant.client.post(`/webhook-endpoints/${id}/seek`, { after: 1 });
    await deliver(service);
    expect(batchesOf(receiver)).toEqual([[1, 2], [3, 4], [2, 3], [4]]);
  });

  it("a batch concerns one endpoint: not the merchant's other ones, and not those of another merchant", async () => {
    const other = await aMerchant(service);
    const [receiver, single, elsewhere] = [await aReceiver(), await aReceiver(), await aReceiver()];
    await anEndpoint(merchant, receiver, { batch: 50 });
    await anEndpoint(merchant, single);
    const theirs = await anEndpoint(other, elsewhere);
    const path = `/webhook-endpoints/${theirs.id}`;
    expectProblem(await merchant.client.put(path, { url: elsewhere.url, batch: 50 }), 404, 'not_found');
    await someEvents(merchant, 3);
    await someEvents(other, 2);
    await deliver(service);
    expect(batchesOf(receiver)).toEqual([[1, 2, 3]]);
    expect(batchesOf(single)).toEqual([[1], [2], [3]]);
    expect(elsewhere.received.map(({ raw }) => raw)).toEqual(
      (await readFeed(other)).map((event) => JSON.stringify(event)),
    );
    expect(await endpointOf(other, theirs)).toMatchObject({ batch: 1, cursor: 2 });
  });
});
