import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { AdminCommandLine } from '../support/admin.js';
import type { Answer } from '../support/client.js';
import { numberEvents, readFeed } from '../support/events.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { type Answering, answerWith, deliver, type Receiver } from '../support/receiver.js';
import { anEndpoint, endpointOf, settled, someEvents, rowOf, until, useWebhooks } from '../support/webhooks.js';

const { service, merchant, aReceiver, aRawReceiver } = useWebhooks();
const admin = new AdminCommandLine(service);

/** Answers when the test says so. */
function held(): { answer: Answering; release: (status?: number) => void; waiting: () => number } {
  const waiting: ((status: number) => void)[] = [];
  return {
    answer: (_, response) => void waiting.push((status) => response.writeHead(status).end()),
    release: (status = 204) => waiting.splice(0).forEach((end) => end(status)),
    waiting: () => waiting.length,
  };
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe('what a delivery sends', () => {
  it('a delivery has the documented headers, and as its body the event as GET /events/{id} returns it', async () => {
    const receiver = await aReceiver();
    const { secret } = await anEndpoint(merchant, receiver);
    await merchant.completed({ metadata: { store: 'São Paulo' } });
    await deliver(service);
    const [created, one] = receiver.received;
    expect(created!.event).toMatchObject({ type: 'order.created', data: { order: { version: 1 } } });
    const names = one!.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect({ method: one!.method, path: one!.path }).toEqual({ method: 'POST', path: '/webhooks' });
    expect(names.sort()).toEqual(
      ['content-type', 'content-length', 'user-agent', 'webhook-id', 'webhook-timestamp', 'webhook-signature', 'host']
        .concat('connection')
        .sort(),
    );
    expect(one!.headers).toMatchObject({
      ...{ 'content-type': 'application/json', 'user-agent': 'cashback-order-service', connection: 'keep-alive' },
      'webhook-id': one!.event.id,
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    });
    expect(Math.abs(Number(one!.headers['webhook-timestamp']) * 1000 - Date.now())).toBeLessThan(60_000);
    const read = await fetch(`${service.url}/events/${one!.event.id}`, {
      headers: { authorization: `Bearer ${merchant.tokens.access_token}` },
    });
    expect(one!.raw).toBe(await read.text());
    expect(one!.event).toMatchObject({
      type: 'order.completed',
      data: { order: { metadata: { store: 'São Paulo' } } },
    });
    const headers = one!.headers as Record<string, string>;
    expect(new Webhook(secret).verify(one!.raw, headers)).toEqual(one!.event);
    expect(() => new Webhook(secret).verify(one!.raw.replace('completed', 'cancelled'), headers)).toThrow();
  });

  it('events arrive once, in the order of the feed, over one connection', async () => {
    const receiver = await aReceiver();
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 120);
    await deliver(service);
    expect(receiver.sequences()).toEqual(range(1, 120));
    expect(receiver.received.map(({ event }) => event)).toEqual(await readFeed(merchant));
    expect(receiver.connections()).toBe(1);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 120, behind: 0, failures: 0 });
    await deliver(service);
    expect(receiver.received).toHaveLength(120);
  });

  it('a receiver that closes each connection without saying so gets each event in order and without a failure', async () => {
    const receiver = await aReceiver((_, response) => {
      response.writeHead(204).end(() => response.socket?.end());
    });
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 20);
    await deliver(service);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 20, failures: 0 });
    // An event that crosses the end of its connection has no answer, so it is sent again.
    expect([...new Set(receiver.sequences())]).toEqual(range(1, 20));
    expect(receiver.sequences()).toEqual(receiver.sequences().toSorted((a, b) => a - b));
  });

  it('a receiver that closes a connection just when it is used again gets each event, without a failure', async () => {
    const used = new Set<object>();
    const receiver = await aRawReceiver((socket) => {
      if (used.has(socket)) return void socket.destroy();
      used.add(socket);
      socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 5);
    await deliver(service);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 5, behind: 0, failures: 0 });
    expect(receiver.connections()).toBe(5);
  });

  it('a receiver that closes every connection before it answers fails after one attempt', async () => {
    const receiver = await aRawReceiver((socket) => void socket.destroy());
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 1);
    await deliver(service);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 0, behind: 1, failures: 1 });
    expect(receiver.connections()).toBe(1);
  });

  it('the cursor advances with each accepted event, and not before', async () => {
    const gate = held();
    const receiver = await aReceiver(gate.answer);
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 3);
    await numberEvents(service);
    for (const cursor of range(0, 2)) {
      await until('the next event arrives', () => gate.waiting() === 1);
      expect((await endpointOf(merchant, endpoint)).cursor).toBe(cursor);
      gate.release();
    }
    await settled(service);
    expect((await endpointOf(merchant, endpoint)).cursor).toBe(3);
  });

  it('an endpoint gets the events of its types only, and its cursor passes the others', async () => {
    const receiver = await aReceiver();
    const endpoint = await anEndpoint(merchant, receiver, { types: ['order.completed'] });
    await someEvents(merchant, 3);
    await merchant.completed();
    await someEvents(merchant, 2);
    await deliver(service);
    const completed = (await readFeed(merchant)).filter(({ type }) => type === 'order.completed');
    expect(receiver.received.map(({ event }) => event)).toEqual(completed);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({
      behind: 0,
      cursor: (await readFeed(merchant)).length,
    });
  });

  it('a failure stays counted while only events of other types pass', async () => {
    const receiver = await aReceiver(answerWith(500));
    const endpoint = await anEndpoint(merchant, receiver, { types: ['order.completed'] });
    await someEvents(merchant, 2);
    await merchant.completed();
    await deliver(service);
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ failures: 1, cursor: 0 });
  });

  it('an endpoint gets nothing that happened before it, and nothing of another merchant', async () => {
    const other = await aMerchant(service);
    await someEvents(merchant, 2);
    await deliver(service);
    const [receiver, elsewhere] = [await aReceiver(), await aReceiver()];
    await anEndpoint(merchant, receiver);
    await anEndpoint(other, elsewhere);
    await someEvents(merchant, 2);
    await someEvents(other, 1);
    await deliver(service);
    expect(receiver.sequences()).toEqual([3, 4]);
    expect(elsewhere.received.map(({ event }) => event)).toEqual(await readFeed(other));
  });
});

describe('a change during a delivery', () => {
  it('the events after the one that is being sent do not go to a deleted endpoint', async () => {
    const gate = held();
    const receiver = await aReceiver(gate.answer);
    const { id } = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 3);
    await numberEvents(service);
    await until('the first event arrives', () => gate.waiting() === 1);
    expect((await merchant.client.send('DELETE', `/webhook-endpoints/${id}`)).status).toBe(204);
    expect((await merchant.client.send('DELETE', `/webhook-endpoints/${id}`)).status).toBe(404);
    gate.release();
    await settled(service);
    await deliver(service);
    expect(receiver.sequences()).toEqual([1]);
  });

  it('after a replacement all events that were not accepted go to the new URL', async () => {
    const gate = held();
    const [before, now] = [await aReceiver(gate.answer), await aReceiver()];
    const endpoint = await anEndpoint(merchant, before);
    await someEvents(merchant, 3);
    await numberEvents(service);
    await until('the first event arrives', () => gate.waiting() === 1);
    const path = `/webhook-endpoints/${endpoint.id}`;
    const { status, body } = await merchant.client.put(path, { url: now.url, types: ['cashback.granted'] });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { url: now.url, types: ['cashback.granted'], cursor: 0, failures: 0, next_attempt_at: null },
    });
    await numberEvents(service);
    await until('the new URL has all events', () => now.received.length === 3);
    gate.release();
    await settled(service);
    expect({ before: before.sequences(), now: now.sequences() }).toEqual({ before: [1], now: [1, 2, 3] });
    expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: 3, failures: 0 });
    expect((await merchant.client.put(path, { url: now.url })).body).toMatchObject({ types: null, cursor: 3 });
  });

  it('a seek during a delivery wins over its outcome, a success or a failure', async () => {
    for (const status of [204, 500]) {
      const gate = held();
      const receiver = await aReceiver(gate.answer);
      const endpoint = await anEndpoint(merchant, receiver);
      const start = endpoint.cursor;
      await someEvents(merchant, 4);
      await numberEvents(service);
      await until('the first event arrives', () => gate.waiting() === 1);
      const after = { after: start + 2 };
      expect((await merchant.client.post(`/webhook-endpoints/${endpoint.id}/seek`, after)).status).toBe(200);
      gate.release(status);
      await settled(service);
      expect(await endpointOf(merchant, endpoint)).toMatchObject({ cursor: start + 2, failures: 0 });
      receiver.answer = answerWith(204);
      await deliver(service);
      expect(receiver.sequences()).toEqual([start + 1, start + 3, start + 4]);
    }
  });

  it('a rotation during a delivery stops nothing', async () => {
    const gate = held();
    const receiver = await aReceiver(gate.answer);
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 2);
    await numberEvents(service);
    await until('the first event arrives', () => gate.waiting() === 1);
    const { secret } = (await merchant.client.post(`/webhook-endpoints/${endpoint.id}/rotate-secret`)).body;
    receiver.answer = answerWith(204);
    gate.release();
    await settled(service);
    await someEvents(merchant, 1);
    await deliver(service);
    expect(receiver.sequences()).toEqual([1, 2, 3]);
    const { raw, headers } = receiver.received.at(-1)!;
    new Webhook(secret as string).verify(raw, headers as Record<string, string>);
  });
});

describe('POST /webhook-endpoints/{id}/seek', () => {
  it('a seek back sends events again, also a second time, and one forward skips an event that is never accepted', async () => {
    const receiver = await aReceiver((received, response) =>
      response.writeHead(received.event.sequence === 2 ? 400 : 204).end(),
    );
    const { id } = await anEndpoint(merchant, receiver);
    const seek = (after: number) => merchant.client.post(`/webhook-endpoints/${id}/seek`, { after });
    await someEvents(merchant, 4);
    await deliver(service);
    expect(receiver.sequences()).toEqual([1, 2]);
    const { status, body } = await seek(2);
    expect({ status, body }).toMatchObject({ status: 200, body: { cursor: 2, behind: 2, failures: 0 } });
    await deliver(service);
    expect(receiver.sequences()).toEqual([1, 2, 3, 4]);
    receiver.answer = answerWith(204);
    for (let round = 0; round < 2; round++) {
      await seek(1);
      await seek(1);
      await deliver(service);
    }
    expect(receiver.sequences()).toEqual([1, 2, 3, 4, 2, 3, 4, 2, 3, 4]);
  });

  it('a seek from an instant sends the events from then on again, and one from a future instant none', async () => {
    const receiver = await aReceiver();
    const { id } = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 2);
    await service.clock.advance({ minutes: 30 });
    const from = service.clock.now().toISOString();
    await someEvents(merchant, 2);
    await deliver(service);
    const seek = (body: object) => merchant.client.post(`/webhook-endpoints/${id}/seek`, body);
    expect((await seek({ from })).body).toMatchObject({ cursor: 2, behind: 2 });
    await seek({ from });
    await deliver(service);
    expect(receiver.sequences()).toEqual([1, 2, 3, 4, 3, 4]);
    expect((await seek({ from: '1970-01-01T00:00:00Z', after: null })).body).toMatchObject({ cursor: 0, behind: 4 });
    expect((await seek({ from: '9999-12-31T23:59:59-03:00' })).status).toBe(400);
    const later = new Date(+service.clock.now() + 86_400_000).toISOString();
    expect((await seek({ from: later })).body).toMatchObject({ cursor: 4, behind: 0 });
    await deliver(service);
    expect(receiver.sequences()).toHaveLength(6);
  });

  it('concurrent seeks and events leave a cursor of one of the seeks, before the events that came meanwhile', async () => {
    const receiver = await aReceiver();
    const { id } = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 3);
    await numberEvents(service);
    const instants = ['1970-01-01T00:00:00Z', '2100-01-01T00:00:00Z'];
    const path = `/webhook-endpoints/${id}/seek`;
    const answers = await Promise.all([
      ...[...instants, ...instants].map((from) => merchant.client.post<{ cursor: number }>(path, { from })),
      someEvents(merchant, 2),
    ]);
    const seeks = answers.slice(0, 4) as Answer<{ cursor: number }>[];
    expect(seeks.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const [at, { body }] of seeks.entries()) expect(at % 2 === 0 ? [0] : [3, 4, 5]).toContain(body.cursor);
  });
});

describe('an erasure and webhooks', () => {
  const erase = async (document: string): Promise<void> => {
    const args = ['customers', 'erase', '--merchant', merchant.id, '--document-stdin', '--yes'];
    await admin.builtJson(args, `${document}\n`);
  };
  const documentsOf = ({ received }: Receiver): string[] => received.map(({ event }) => event.data.wallet.document);

  it('after an erasure, deliveries and replays have the pseudonym', async () => {
    const [document, receiver] = [aDocument(), await aReceiver()];
    const { id } = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 2, document);
    await deliver(service);
    expect(documentsOf(receiver)).toEqual([document, document]);
    await erase(document);
    await merchant.client.post(`/webhook-endpoints/${id}/seek`, { after: 0 });
    receiver.received.splice(0);
    await deliver(service);
    expect(documentsOf(receiver).length).toBeGreaterThanOrEqual(2);
    expect(receiver.received.map(({ raw }) => raw).join()).not.toContain(document);
  });

  it('events that were read before an erasure are not sent 5 seconds later with the document', async () => {
    const [document, receiver] = [aDocument(), await aReceiver()];
    const ends: (() => void)[] = [];
    receiver.answer = (_, response) => void ends.push(() => response.writeHead(204).end());
    await anEndpoint(merchant, receiver);
    await someEvents(merchant, 3, document);
    await numberEvents(service);
    await until('the first event arrives', () => ends.length === 1);
    await erase(document);
    service.clock.skip(5000);
    receiver.answer = answerWith(204);
    ends[0]!();
    await settled(service);
    await deliver(service);
    const [first, ...later] = documentsOf(receiver);
    expect(first).toBe(document);
    expect(later.length).toBeGreaterThanOrEqual(2);
    expect(later).not.toContain(document);
  });

  it('the response of a receiver that repeats the request does not keep the document after an erasure', async () => {
    const [document, receiver] = [aDocument(), await aReceiver()];
    receiver.answer = ({ raw }, response) => void response.writeHead(500).end(raw);
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 1, document);
    await deliver(service);
    expect((await endpointOf(merchant, endpoint)).last_attempt?.response).toContain('cashback.granted');
    await erase(document);
    expect(JSON.stringify(await rowOf(service, endpoint))).not.toContain(document);
  });
});
