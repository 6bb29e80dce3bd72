import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { anOrder, PASSWORD } from '../support/factories.js';
import { aRequest, parseAnswer } from '../support/raw.js';
import { useService } from '../support/use-service.js';

const MIB = 1024 * 1024;

/** The number of requests that may wait on a connection for the response to an earlier one. */
const WAITING = 16;

const { service, merchant } = useService();

function open(options: { allowHalfOpen?: boolean } = {}): Socket {
  const { hostname, port } = new URL(service.url);
  return connect({ port: Number(port), host: hostname, ...options }).on('error', () => undefined);
}

/** Sends bytes and returns all that the service sends until it closes the connection. */
async function exchange(bytes: Buffer): Promise<string> {
  const socket = open();
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.write(bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  return received;
}

const statusesOf = (received: string): number[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

function authorized(line: string, body?: unknown, connection = 'keep-alive'): Buffer {
  const headers = { authorization: `Bearer ${merchant.tokens.access_token}`, connection };
  if (body === undefined) return aRequest(line, headers);
  return aRequest(line, { ...headers, 'content-type': 'application/json' }, JSON.stringify(body));
}

describe('pipelined requests', () => {
  it('a pipelined request is served after the response to the one before it', async () => {
    const orders = Array.from({ length: 8 }, () => anOrder());
    const requests = orders.flatMap((order, at) => [
      authorized('POST /orders', order),
      authorized(`GET /orders?external_id=${order.external_id}`, undefined, at === 7 ? 'close' : 'keep-alive'),
    ]);
    const received = await exchange(Buffer.concat(requests));
    expect(statusesOf(received)).toEqual(Array(8).fill([201, 200]).flat());
    const lists = received.split(/(?=HTTP\/1\.1 200)/).filter((text) => text.startsWith('HTTP/1.1 200'));
    const found = lists.map((text) => parseAnswer(text.split('HTTP/1.1 201')[0] ?? '').body.data[0]?.external_id);
    expect(found).toEqual(orders.map((order) => order.external_id));
  });

  it(`${WAITING} pipelined requests can wait for the response to an earlier one`, async () => {
    const received = await exchange(
      Buffer.concat([
        ...Array<Buffer>(WAITING).fill(authorized('GET /orders')),
        authorized('GET /orders', undefined, 'close'),
      ]),
    );
    expect(statusesOf(received)).toEqual(Array(WAITING + 1).fill(200));
  });

  it('a client that pipelines a hundred requests is disconnected, and at most one of them has an effect', async () => {
    const orders = Array.from({ length: 100 }, () => anOrder());
    await exchange(Buffer.concat(orders.map((order) => authorized('POST /orders', order))));
    const rows = await service.dataSource.query<unknown[]>(
      `SELECT id FROM orders WHERE external_id IN (${orders.map(() => '?').join()})`,
      orders.map((order) => order.external_id),
    );
    expect(rows.length).toBeLessThanOrEqual(1);
  });
});

describe('request bodies that arrive after the response', () => {
  it.each([
    ['401 to a request without a token', 401, { 'transfer-encoding': 'chunked' }, 'fffffffff\r\n'],
    ['413 to a request with a large Content-Length', 413, { 'content-length': '50000000000' }, ''],
  ])(
    'the service reads little of the body after its %s, then disconnects the client',
    async (_, status, length, start) => {
      const socket = open();
      let received = '';
      socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
      const closed = new Promise((resolve) => socket.once('close', resolve));
      const head = { 'content-type': 'application/json', 'content-length': undefined, connection: 'keep-alive' };
      socket.write(aRequest('POST /orders', { ...head, ...length }, start));
      const chunk = Buffer.alloc(MIB / 4, ' ');
      const send = (): void => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('drain', send);
      send();
      await closed;
      expect(statusesOf(received)).toEqual([status]);
      // Most of these bytes are in buffers of the operating system.
      expect(socket.bytesWritten).toBeLessThan(32 * MIB);
    },
  );

  it('after a body that is slightly too large, the next requests on the connection succeed', async () => {
    const refused = aRequest(
      'POST /orders',
      { connection: 'keep-alive', 'content-type': 'application/json' },
      'x'.repeat(MIB / 4 + 14),
    );
    const socket = open();
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(refused);
    while (!received.includes('payload_too_large')) await new Promise((resolve) => socket.once('data', resolve));
    socket.write(aRequest('GET /health/live', { connection: 'keep-alive' }));
    // Longer than the time after which a connection with an unread body is closed.
    await sleep(1500);
    socket.write(aRequest('GET /health/live'));
    await closed;
    expect(statusesOf(received)).toEqual([413, 200, 200]);
  });

  it('a connection can be reused if the rest of the body is small', async () => {
    const refused = aRequest(
      'POST /orders',
      { connection: 'keep-alive', 'content-type': 'application/json' },
      'x'.repeat(100_000),
    );
    const socket = open();
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    const end = refused.length - 50_000;
    socket.write(refused.subarray(0, end));
    await new Promise((resolve) => socket.once('data', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(Buffer.concat([refused.subarray(end), aRequest('GET /health/live')]));
    await closed;
    expect(statusesOf(received)).toEqual([401, 200]);
  });

  it('a client that asked to close the connection can send all of its body before it reads the response', async () => {
    const refused = aRequest('POST /orders', { 'content-type': 'application/json' }, 'x'.repeat(200_000));
    const socket = open({ allowHalfOpen: true });
    const errors: Error[] = [];
    let received = '';
    socket.on('error', (error) => errors.push(error));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    for (let at = 0; at < refused.length; at += 50_000) {
      socket.write(refused.subarray(at, at + 50_000));
      await sleep(100);
    }
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.once('end', () => socket.end());
    await closed;
    expect(statusesOf(received)).toEqual([401]);
    expect(errors).toEqual([]);
  });
});

describe('request headers', () => {
  it('the hundredth header field is read', async () => {
    const many = `GET /orders HTTP/1.1\r\nhost: x\r\n${'a:\r\n'.repeat(97)}`;
    const last = `connection: close\r\nauthorization: Bearer ${merchant.tokens.access_token}\r\n\r\n`;
    expect(statusesOf(await exchange(Buffer.from(many + last)))).toEqual([200]);
  });

  it('a request to switch the protocol is served without switching, and the connection stays usable', async () => {
    const socket = open();
    const statuses: number[] = [];
    socket.write(aRequest('GET /health/live', { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c' }));
    socket.on('data', (chunk: Buffer) => {
      statuses.push(...statusesOf(chunk.toString()));
      if (statuses.length === 1) socket.write(aRequest('GET /health/live'));
    });
    await new Promise((resolve) => socket.once('close', resolve));
    expect(statuses).toEqual([200, 200]);
  });

  it('a client that asks for a tunnel is disconnected', async () => {
    expect(await exchange(aRequest('CONNECT shop.example:443'))).toBe('');
  });

  const inChunks = (chunk: string, count: number): string =>
    `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(count);

  function chunked(body: string, connection = 'close', path = '/auth/login'): Buffer {
    const sent = { 'content-type': 'application/json', 'transfer-encoding': 'chunked', 'content-length': undefined };
    return Buffer.concat([aRequest(`POST ${path}`, { ...sent, connection }), Buffer.from(body)]);
  }

  it('a body of 2000 chunks is read', async () => {
    const login = inChunks(JSON.stringify({ email: merchant.email, password: PASSWORD }), 1);
    expect(statusesOf(await exchange(chunked(`${inChunks(' ', 1999)}${login}0\r\n\r\n`)))).toEqual([201]);
  });

  it.each([
    ['complete', `${inChunks(' ', 2001)}0\r\n\r\n`],
    ['incomplete', inChunks(' ', 2001)],
    ['endless', inChunks(' ', 300_000)],
  ])('a body of more than 2000 chunks that is %s returns 413', async (_is, body) => {
    const received = await exchange(chunked(body));
    expect(parseAnswer(received)).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
  });

  it.each([
    ['refused', '/orders', 401],
    ['served', '/auth/login', 201],
  ])('a client whose request in 100 chunks is %s has to connect again', async (_, path, expected) => {
    const login = inChunks(JSON.stringify({ email: merchant.email, password: PASSWORD }), 1);
    const send = (count: number): Buffer => chunked(`${inChunks(' ', count - 1)}${login}0\r\n\r\n`, 'keep-alive', path);
    const last = aRequest('GET /health/live');
    expect(statusesOf(await exchange(Buffer.concat([send(99), last])))).toEqual([expected, 200]);
    const { status, headers } = parseAnswer(await exchange(send(100)));
    expect({ status, connection: headers.get('connection') }).toEqual({ status: expected, connection: 'close' });
  });

  it('a request in chunks does not wait behind another one: the client is disconnected', async () => {
    const login = `${inChunks(JSON.stringify({ email: merchant.email, password: PASSWORD }), 1)}0\r\n\r\n`;
    expect(await exchange(Buffer.concat([authorized('GET /orders'), chunked(login)]))).toBe('');
    const first = [chunked(login, 'keep-alive'), authorized('GET /orders', undefined, 'close')];
    expect(statusesOf(await exchange(Buffer.concat(first)))).toEqual([201, 200]);
  });

  it.each([
    [99, [401, 200]],
    [100, [401]],
    [3000, [401]],
  ])('after a response, %i chunks of a body that nobody reads return %j on the connection', async (count, expected) => {
    const socket = open();
    const statuses: number[] = [];
    const headers = {
      'content-type': 'application/json',
      connection: 'keep-alive',
      'transfer-encoding': 'chunked',
      'content-length': undefined,
    };
    socket.write(aRequest('POST /orders', headers));
    socket.on('data', (chunk: Buffer) => {
      statuses.push(...statusesOf(chunk.toString()));
      if (statuses.length === 1) socket.write(`${inChunks(' ', count)}0\r\n\r\n`);
      if (statuses.length === 1) setTimeout(() => socket.write(aRequest('GET /health/live')), 1500);
    });
    await new Promise((resolve) => socket.once('close', resolve));
    expect(statuses).toEqual(expected);
  });
});
