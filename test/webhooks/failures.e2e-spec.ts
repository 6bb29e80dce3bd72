import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import {
  type Answering,
  answerWith,
  deliver,
  type RawReceiver,
  type Receiver,
  startRawReceiver,
  startReceiver,
} from '../support/receiver.js';
import { useService } from '../support/use-service.js';
import { anEndpoint, endpointOf, feedOf, rowOf, settled, someEvents, until } from '../support/webhooks.js';
import type { Endpoint } from '../support/shop.js';

const { service } = useService();
let merchant: TestMerchant;
const started: (Receiver | RawReceiver)[] = [];

beforeAll(async () => {
  merchant = await aMerchant(service);
});
afterEach(async () => {
  for (const one of started.splice(0)) await one.stop();
  const { body } = await merchant.client.get<{ data: Endpoint[] }>('/webhook-endpoints');
  for (const { id } of body.data) await merchant.client.send('DELETE', `/webhook-endpoints/${id}`);
});

async function aReceiver(answer?: Answering): Promise<Receiver> {
  const receiver = await startReceiver(answer);
  started.push(receiver);
  return receiver;
}

async function aRawReceiver(...parameters: Parameters<typeof startRawReceiver>): Promise<RawReceiver> {
  const receiver = await startRawReceiver(...parameters);
  started.push(receiver);
  return receiver;
}

/** Sends one event to a receiver. @returns the endpoint afterwards. */
async function afterOneEvent(receiver: { url: string }): Promise<Endpoint & { moved: number }> {
  const endpoint = await anEndpoint(merchant, receiver);
  await someEvents(merchant, 1);
  await deliver(service);
  const shown = await endpointOf(merchant, endpoint);
  return { ...shown, moved: shown.cursor - endpoint.cursor };
}

describe('a response that is not a success', () => {
  it.each([300, 301, 304, 400, 401, 404, 429, 500, 503])(
    'the status %i is a failure, which last_attempt shows',
    async (status) => {
      const receiver = await aReceiver(answerWith(status, {}, status === 304 ? '' : 'out of order'));
      const shown = await afterOneEvent(receiver);
      const [event] = (await feedOf(merchant)).slice(-1);
      expect(shown).toMatchObject({ moved: 0, behind: 1, failures: 1, status: 'active' });
      expect(shown.last_attempt).toEqual({
        ...{ at: expect.any(String), event_id: event!.id, status, error: null },
        ...{ duration_ms: expect.any(Number), response: status === 304 ? '' : 'out of order' },
      });
      expect(receiver.received).toHaveLength(1);
    },
  );

  it.each([200, 201, 202, 204, 299])('the status %i advances the cursor', async (status) => {
    const receiver = await aReceiver(answerWith(status));
    expect(await afterOneEvent(receiver)).toMatchObject({
      ...{ moved: 1, behind: 0, failures: 0, next_attempt_at: null, oldest_waiting_at: null },
      last_attempt: { status, error: null },
    });
  });

  it.each([
    ['301', 301],
    ['302', 302],
    ['307', 307],
    ['308', 308],
  ])('a redirect with %s is not followed, neither to this receiver nor to an internal address', async (_, status) => {
    const inside = await aReceiver();
    for (const location of ['/elsewhere', inside.url, 'http://169.254.169.254/latest/meta-data/']) {
      const receiver = await aReceiver(answerWith(status, { location }));
      expect(await afterOneEvent(receiver)).toMatchObject({ moved: 0, failures: 1, last_attempt: { status } });
      expect(receiver.received.map(({ path }) => path)).toEqual(['/webhooks']);
    }
    expect(inside.connections()).toBe(0);
  });
});

describe('a receiver that does not answer in HTTP', () => {
  it('a refused connection is a failure with the reason', async () => {
    const receiver = await aReceiver();
    await receiver.stop();
    started.splice(0);
    const { failures, last_attempt } = await afterOneEvent(receiver);
    expect({ failures, last_attempt }).toMatchObject({
      failures: 1,
      last_attempt: { status: null, error: expect.stringContaining('ECONNREFUSED'), response: null },
    });
  });

  it.each<[string, string]>([
    ['garbage', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['headers of 100 KiB', `HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(100 * 1024)}\r\n\r\n`],
    ['a response that ends in its headers', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n'],
    ['nothing', ''],
    ['a status of 4 digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['only a 100 and a 103', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('%s instead of a response is a failure', async (_, text) => {
    const receiver = await aRawReceiver((socket) => socket.end(text));
    const { moved, failures, last_attempt } = await afterOneEvent(receiver);
    expect({ moved, failures, last_attempt }).toMatchObject({
      ...{ moved: 0, failures: 1 },
      last_attempt: { status: null, error: expect.any(String), response: null },
    });
    expect(receiver.connections()).toBe(1);
  });

  it('a switch of protocols that nobody asked for is a failure, and the delivery ends', async () => {
    const receiver = await aRawReceiver((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
    );
    const endpoint = await anEndpoint(merchant, receiver);
    await someEvents(merchant, 1);
    void deliver(service);
    await until('the failure is stored', async () => (await endpointOf(merchant, endpoint)).failures === 1);
    await settled(service);
    const { status, body } = await merchant.client.post(`/webhook-endpoints/${endpoint.id}/ping`);
    expect({ status, body }).toMatchObject({ status: 200, body: { status: null, error: expect.any(String) } });
  });
});

describe('the body of a response', () => {
  it('the first 1 KiB of a body of 1 MiB is stored, and the event counts as accepted', async () => {
    const receiver = await aReceiver(answerWith(200, {}, 'x'.repeat(1024 * 1024)));
    const { moved, last_attempt } = await afterOneEvent(receiver);
    expect({ moved, response: last_attempt!.response }).toEqual({ moved: 1, response: 'x'.repeat(1024) });
  });

  it('of an endless body only the beginning is read', async () => {
    let written = 0;
    const receiver = await aReceiver((_, response) => {
      response.writeHead(500);
      const write = (): void => {
        if (response.destroyed) return;
        written += 1024;
        response.write('y'.repeat(1024), () => setImmediate(write));
      };
      write();
    });
    const { failures, last_attempt } = await afterOneEvent(receiver);
    expect({ failures, status: last_attempt!.status }).toEqual({ failures: 1, status: 500 });
    expect(last_attempt!.duration_ms).toBeLessThan(10_000);
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  it('the status counts if the connection breaks after the headers', async () => {
    const receiver = await aRawReceiver((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab'));
    expect(await afterOneEvent(receiver)).toMatchObject({ moved: 1, last_attempt: { status: 200, response: 'ab' } });
  });

  it.each([
    ['invalid UTF-8', Buffer.from([0x61, 0xff, 0xfe, 0xc3, 0x28]), 'a\ufffd\ufffd\ufffd('],
    ['NUL and controls', Buffer.from('a\0b\x1b[31m'), 'a\0b\x1b[31m'],
    ['characters outside the BMP', Buffer.from('😀'.repeat(300)), '😀'.repeat(256)],
  ])('a body with %s is stored and shown', async (_, bytes, expected) => {
    const receiver = await aReceiver((_received, response) => void response.writeHead(500).end(bytes));
    expect((await afterOneEvent(receiver)).last_attempt).toMatchObject({ status: 500, response: expected });
  });

  it('of a body of invalid UTF-8 the first 1 KiB that was received is stored', async () => {
    const receiver = await aReceiver((_, response) => void response.writeHead(500).end(Buffer.alloc(4096, 0xff)));
    expect((await afterOneEvent(receiver)).last_attempt!.response).toBe('\ufffd'.repeat(1024));
  });
});

describe('an endpoint whose row cannot be used', () => {
  it.each([
    ['a secret that is too short to be one', '[{"sealed":"AAAA","until":null}]'],
    ['an empty secret', '[{"sealed":"","until":null}]'],
    ['no secret', '[]'],
  ])('an endpoint with %s fails, and the endpoints after it get their events', async (_, secrets) => {
    const receiver = await aReceiver();
    const broken = await anEndpoint(merchant, { url: `${receiver.url}/broken` });
    const whole = await anEndpoint(merchant, receiver);
    await service.dataSource.query(
      "UPDATE webhook_endpoints SET secrets = ?, next_attempt_at = '2020-01-01' WHERE id = ?",
      [secrets, broken.id],
    );
    await someEvents(merchant, 1);
    await deliver(service);
    expect(await endpointOf(merchant, whole)).toMatchObject({ behind: 0, failures: 0 });
    const { failures, last_attempt } = await endpointOf(merchant, broken);
    expect({ failures, last_attempt }).toMatchObject({
      failures: 1,
      last_attempt: { error: expect.stringContaining('rotate') },
    });
    expect((await rowOf(service, broken)).lease).toBeNull();
  });
});
