import { beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from '../support/client.js';
import { numberEvents, readFeed } from '../support/events.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { answerWith, deliver, type Receiver } from '../support/receiver.js';
import type { Endpoint } from '../support/shop.js';
import { anEndpoint, endpointOf, rowOf, settled, someEvents, until, useWebhooks } from '../support/webhooks.js';

const { service, merchant, aReceiver, aRawReceiver, logInAgain } = useWebhooks({
  env: { ACCESS_TOKEN_TTL_SECONDS: '86400' },
});

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000];

/** How long the endpoint pauses after its last attempt, in milliseconds. */
async function pauseOf(endpoint: { id: string }): Promise<number> {
  const { last_attempt, next_attempt_at } = await endpointOf(merchant, endpoint);
  return Date.parse(next_attempt_at!) - Date.parse(last_attempt!.at);
}

/** Moves the clock until the next attempt is due, or `ms` before. */
async function skipTo(endpoint: { id: string }, ms = 0): Promise<void> {
  const { next_attempt_at } = await rowOf(service, endpoint);
  service.clock.skip(Math.max(0, Number(next_attempt_at) - Number(service.clock.now()) - ms));
}

/** Moves the clock by hours, and logs in again. */
async function skipHours(hours: number): Promise<void> {
  service.clock.skip(hours * HOUR);
  await logInAgain();
}

/** What an attempt takes beyond the pause: how long the machine needs to store it. */
const SLACK = 5000;

/** Sends one event to a receiver. @returns the endpoint afterwards. */
async function afterOneEvent(receiver: { url: string }): Promise<Endpoint & { moved: number }> {
  const endpoint = await anEndpoint(merchant, receiver);
  await someEvents(merchant, 1);
  await deliver(service);
  const shown = await endpointOf(merchant, endpoint);
  return { ...shown, moved: shown.cursor - endpoint.cursor };
}

describe('a response that is not a success', () => {
  it.each([300, 304, 400, 429, 500])('the status %i is a failure, which last_attempt shows', async (status) => {
    const receiver = await aReceiver(answerWith(status, {}, status === 304 ? '' : 'out of order'));
    const shown = await afterOneEvent(receiver);
    const [event] = (await readFeed(merchant)).slice(-1);
    expect(shown).toMatchObject({ moved: 0, behind: 1, failures: 1, status: 'active' });
    expect(shown.last_attempt).toEqual({
      ...{ at: expect.any(String), event_id: event!.id, status, error: null },
      ...{ duration_ms: expect.any(Number), response: status === 304 ? '' : 'out of order' },
    });
    expect(receiver.received).toHaveLength(1);
  });

  it.each([200, 204, 299])('the status %i advances the cursor', async (status) => {
    const receiver = await aReceiver(answerWith(status));
    expect(await afterOneEvent(receiver)).toMatchObject({
      ...{ moved: 1, behind: 0, failures: 0, next_attempt_at: null, oldest_waiting_at: null },
      last_attempt: { status, error: null },
    });
  });

  it.each([301, 308])('a redirect with %i is not followed, to this receiver or an internal address', async (status) => {
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

describe('when attempts are made', () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await aReceiver(answerWith(500));
  });

  describe('the attempts after a failure', () => {
    it('the pauses are 5 s, 30 s, 2 min, 10 min, 30 min and then 1 h, each 20 % shorter or longer, and none is cut', async () => {
      const endpoint = await anEndpoint(merchant, receiver);
      await someEvents(merchant, 2);
      const pauses = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, HOUR, HOUR];
      for (const [index, pause] of pauses.entries()) {
        await deliver(service);
        expect(receiver.received).toHaveLength(index + 1);
        expect(await endpointOf(merchant, endpoint)).toMatchObject({
          failures: index + 1,
          cursor: 0,
          status: 'active',
        });
        const actual = await pauseOf(endpoint);
        expect(actual).toBeGreaterThanOrEqual(0.8 * pause);
        expect(actual).toBeLessThanOrEqual(1.2 * pause + SLACK);
        await skipTo(endpoint, 0.3 * pause);
        await deliver(service);
        expect(receiver.received).toHaveLength(index + 1);
        await skipTo(endpoint);
      }
      receiver.answer = answerWith(204);
      await deliver(service);
      expect(receiver.sequences()).toEqual([...pauses.map(() => 1), 1, 2]);
      expect(await endpointOf(merchant, endpoint)).toMatchObject({ failures: 0, next_attempt_at: null, behind: 0 });
      receiver.answer = answerWith(500);
      await someEvents(merchant, 1);
      await deliver(service);
      expect(await pauseOf(endpoint)).toBeLessThanOrEqual(6 * SECOND + SLACK);
    });

    it('endpoints that fail together are not tried again together', async () => {
      for (let n = 0; n < 8; n++) await anEndpoint(merchant, { url: `${receiver.url}/${n}` });
      await someEvents(merchant, 1);
      await deliver(service);
      const { body } = await merchant.client.get<{ data: Endpoint[] }>('/webhook-endpoints');
      const pauses = body.data.map(
        ({ last_attempt, next_attempt_at }) => Date.parse(next_attempt_at!) - Date.parse(last_attempt!.at),
      );
      expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(100);
    });

    it.each<[string, (now: Date) => string, number, number]>([
      ['seconds', () => '600', 600 * SECOND, 600 * SECOND],
      ['a date', (now) => new Date(+now + 20 * MINUTE).toUTCString(), 20 * MINUTE - SECOND, 20 * MINUTE],
      ['fewer seconds than the pause', () => '1', 4 * SECOND, 6 * SECOND],
      ['0', () => '0', 4 * SECOND, 6 * SECOND],
      ['a date in the past', () => 'Wed, 21 Oct 2015 07:28:00 GMT', 4 * SECOND, 6 * SECOND],
      ['more than an hour', () => '86400', HOUR, HOUR],
      ['a date in ten years', (now) => new Date(+now + 3650 * 24 * HOUR).toUTCString(), HOUR, HOUR],
      ['a huge number', () => '99999999999999999999', HOUR, HOUR],
      ['a number of ten digits', () => '4000000000', HOUR, HOUR],
      ['garbage', () => 'soon', 4 * SECOND, 6 * SECOND],
      ['a negative number', () => '-600', 4 * SECOND, 6 * SECOND],
      ['nothing', () => '', 4 * SECOND, 6 * SECOND],
    ])('Retry-After with %s only lengthens the pause, up to an hour', async (_, valueAt, least, most) => {
      receiver.answer = (_received, response) =>
        void response.writeHead(503, { 'retry-after': valueAt(service.clock.now()) }).end();
      const endpoint = await anEndpoint(merchant, receiver);
      await someEvents(merchant, 1);
      await deliver(service);
      const pause = await pauseOf(endpoint);
      expect(pause).toBeGreaterThanOrEqual(least);
      expect(pause).toBeLessThanOrEqual(most + SLACK);
    });
  });

  describe('an endpoint that is given up', () => {
    const attemptsIn = async (result: string): Promise<number> => {
      const { body } = await new Client(service).get<string>('/metrics');
      const found = new RegExp(`^webhook_attempts_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(body);
      return Number(found?.[1]);
    };
    const disabledLines = (id: string): unknown[] =>
      service.logged
        .flatMap((text) => text.split('\n'))
        .filter((line) => line.includes('webhook_endpoint_disabled') && line.includes(id))
        .map((line): unknown => JSON.parse(line));

    it('after 3 days of failures an endpoint is disabled, with a log line and a metric, and gets nothing more', async () => {
      const endpoint = await anEndpoint(merchant, receiver);
      await someEvents(merchant, 2);
      await deliver(service);
      await skipTo(endpoint);
      await skipHours(71.9);
      await deliver(service);
      expect(await endpointOf(merchant, endpoint)).toMatchObject({ failures: 2, status: 'active' });
      const before = await attemptsIn('disabled');
      await skipHours(2);
      await deliver(service);
      expect(await endpointOf(merchant, endpoint)).toMatchObject({
        ...{ failures: 3, status: 'disabled', next_attempt_at: null, cursor: 0, behind: 2 },
      });
      expect(await attemptsIn('disabled')).toBe(before + 1);
      expect(disabledLines(endpoint.id)).toEqual([
        expect.objectContaining({ endpoint_id: endpoint.id, merchant_id: merchant.id, status: 500 }),
      ]);
      expect(JSON.stringify(disabledLines(endpoint.id))).not.toContain('/webhooks');
      await skipHours(48);
      await deliver(service);
      expect(receiver.received).toHaveLength(3);
      receiver.answer = answerWith(204);
      for (let round = 0; round < 2; round++) {
        const { status, body } = await merchant.client.post(`/webhook-endpoints/${endpoint.id}/enable`);
        expect({ status, body }).toMatchObject({ status: 200, body: { status: 'active', failures: 0, cursor: 0 } });
      }
      await deliver(service);
      expect(receiver.sequences()).toEqual([1, 1, 1, 1, 2]);
    });

    it('a success in between starts the 3 days again', async () => {
      const endpoint = await anEndpoint(merchant, receiver);
      await someEvents(merchant, 2);
      await deliver(service);
      await skipHours(71);
      receiver.answer = (received, response) =>
        void response.writeHead(received.event.sequence === 1 ? 204 : 500).end();
      await deliver(service);
      await skipHours(2);
      await deliver(service);
      expect(await endpointOf(merchant, endpoint)).toMatchObject({ status: 'active', failures: 2, cursor: 1 });
    });

    it('a 410 disables an endpoint at once; a ping, a seek and a replacement do not enable it', async () => {
      receiver.answer = answerWith(410);
      const endpoint = await anEndpoint(merchant, receiver);
      await someEvents(merchant, 2);
      const before = await attemptsIn('disabled');
      await deliver(service);
      expect(await attemptsIn('disabled')).toBe(before + 1);
      expect(disabledLines(endpoint.id)).toHaveLength(1);
      receiver.answer = answerWith(204);
      const path = `/webhook-endpoints/${endpoint.id}`;
      expect((await merchant.client.post(`${path}/ping`)).body).toMatchObject({ status: 204 });
      expect((await merchant.client.post(`${path}/seek`, { after: 1 })).body).toMatchObject({ status: 'disabled' });
      expect((await merchant.client.put(path, { url: receiver.url })).body).toMatchObject({ status: 'disabled' });
      await deliver(service);
      expect(receiver.received.map(({ event }) => event.type)).toEqual(['cashback.granted', 'ping']);
      await merchant.client.post(`${path}/enable`);
      await deliver(service);
      expect(receiver.received.at(-1)!.event).toMatchObject({ sequence: 2 });
    });

    it('a 410 to a ping changes nothing', async () => {
      receiver.answer = answerWith(410, {}, 'gone');
      const endpoint = await anEndpoint(merchant, receiver);
      const row = await rowOf(service, endpoint);
      const { status, body } = await merchant.client.post(`/webhook-endpoints/${endpoint.id}/ping`);
      expect({ status, body }).toMatchObject({ status: 200, body: { status: 410, error: null, response: 'gone' } });
      expect(body.event_id).toBe(receiver.received[0]!.event.id);
      expect(await rowOf(service, endpoint)).toEqual(row);
    });

    it('attempts are counted by their result', async () => {
      const [delivered, failed] = [await attemptsIn('delivered'), await attemptsIn('failed')];
      const endpoint = await anEndpoint(merchant, receiver);
      await someEvents(merchant, 3);
      await deliver(service);
      receiver.answer = answerWith(204);
      await skipTo(endpoint);
      await deliver(service);
      expect([await attemptsIn('delivered'), await attemptsIn('failed')]).toEqual([delivered + 3, failed + 1]);
    });
  });

  describe('events that are no longer kept', () => {
    it('an endpoint whose next event is no longer kept fails and says so; enable and seek return 410 with the oldest', async () => {
      const endpoint = await anEndpoint(merchant, receiver);
      await someEvents(merchant, 3);
      await deliver(service);
      await service.dataSource.query('UPDATE webhook_endpoints SET status = ? WHERE id = ?', ['disabled', endpoint.id]);
      await skipHours(91 * 24);
      const { client } = merchant;
      await numberEvents(service);
      await someEvents(merchant, 2);
      await numberEvents(service);
      const path = `/webhook-endpoints/${endpoint.id}`;
      const enabled = await client.post(`${path}/enable`);
      expectProblem(enabled, 410, 'events_expired');
      expect(enabled.body.oldest).toBe(4);
      const early = await client.post(`${path}/seek`, { after: 2 });
      expectProblem(early, 410, 'events_expired');
      const late = await client.post(`${path}/seek`, { after: 6 });
      expectProblem(late, 400, 'validation_failed');
      expect(pointersOf(late)).toEqual(['/after']);
      await service.dataSource.query("UPDATE webhook_endpoints SET status = 'active' WHERE id = ?", [endpoint.id]);
      await deliver(service);
      const { body } = await client.get(path);
      expect(body.last_attempt).toMatchObject({
        event_id: null,
        status: null,
        error: expect.stringContaining('the oldest event that is kept'),
      });
      expect(body).toMatchObject({ cursor: 0, failures: expect.any(Number) });
      receiver.answer = answerWith(204);
      receiver.received.splice(0);
      expect((await client.post(`${path}/seek`, { from: '1970-01-01T00:00:00Z' })).body).toMatchObject({ cursor: 3 });
      expect((await client.post(`${path}/seek`, { after: 3 })).status).toBe(200);
      expect((await client.post(`${path}/enable`)).status).toBe(200);
      await deliver(service);
      expect(receiver.sequences()).toEqual([4, 5]);
    });
  });
});
