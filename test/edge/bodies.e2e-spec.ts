import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { describeWithEdge, expectEdgeProblem, RawConnection, useEdge } from '../support/edge.js';
import { expectProblem } from '../support/expectations.js';
import { anOrder } from '../support/factories.js';
import { aRequest, parseAnswer } from '../support/raw.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const CHUNKED = { ...JSON_TYPE, 'content-length': undefined, 'transfer-encoding': 'chunked' };

describeWithEdge('request bodies through the edge', () => {
  const { edge, merchant } = useEdge();
  const send = (bytes: string | Buffer): RawConnection => new RawConnection(edge, bytes);
  const authorized = (): Record<string, string> => ({ authorization: `Bearer ${merchant.tokens.access_token}` });

  /** A body of ASCII in chunks of this many bytes. */
  function inChunks(body: string, bytes: number): string {
    const chunks = body.match(new RegExp(`[^]{1,${bytes}}`, 'g')) ?? [];
    return `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`;
  }

  it('an order of 250 KiB is created, with a length and in chunks', async () => {
    const description = 'x'.repeat(455);
    const items = Array.from({ length: 500 }, (_, at) => ({ id: `sku-${at}`, price: '0.30', description }));
    await merchant.create({ items });
    const head = aRequest('POST /orders', { ...CHUNKED, ...authorized() });
    const body = inChunks(JSON.stringify(anOrder({ items })), 1000);
    expect((await send(Buffer.concat([head, Buffer.from(body)])).answer()).status).toBe(201);
  });

  it('a body of 20,000 chunks of one byte is read with a token, and returns 401 without one', async () => {
    const items = [{ id: 'sku-1', price: '150.00' }];
    const body = inChunks(JSON.stringify(anOrder({ items })) + ' '.repeat(20_000), 1);
    const head = aRequest('POST /orders', { ...CHUNKED, ...authorized() });
    expect((await send(Buffer.concat([head, Buffer.from(body)])).answer()).status).toBe(201);
    const anonymous = aRequest('POST /orders', CHUNKED);
    expectProblem(await send(Buffer.concat([anonymous, Buffer.from(body)])).answer(), 401, 'missing_token');
  });

  it('a Content-Length above 262144 returns 413 before the body arrives', async () => {
    const head = aRequest('POST /orders', { ...JSON_TYPE, ...authorized(), 'content-length': '262145' });
    expectEdgeProblem(await send(head).answer(), 'payload_too_large', '/orders');
    const largest = aRequest('POST /orders', { ...JSON_TYPE, ...authorized(), 'content-length': '262144' });
    const connection = send(largest);
    expect(await connection.answers(1, 1)).toEqual([]);
    connection.socket.destroy();
  });

  it('a client that sends all of a body that is too large gets 413', async () => {
    const request = aRequest('POST /orders', { ...JSON_TYPE, ...authorized() }, ' '.repeat(262_200));
    expectEdgeProblem(await send(request).answer(), 'payload_too_large', '/orders');
  });

  it('a body in chunks that grows above 262144 bytes returns 413', async () => {
    const head = aRequest('POST /orders', { ...CHUNKED, ...authorized() });
    const connection = send(Buffer.concat([head, Buffer.from(inChunks(' '.repeat(270_000), 5000))]));
    expectProblem(await connection.answer(), 413, 'payload_too_large');
  });

  it('a login of more than 16 KiB returns 413, with a length and in chunks, and a shorter one reaches the service', async () => {
    const login = (bytes: number): string =>
      JSON.stringify({ email: 'nobody@shop.example', password: 'x'.repeat(bytes) });
    const large = login(16_400);
    const request = aRequest('POST /auth/login', JSON_TYPE, large);
    expectEdgeProblem(await send(request).answer(), 'payload_too_large', '/auth/login');
    const chunked = Buffer.concat([aRequest('POST /auth/login', CHUNKED), Buffer.from(inChunks(large, 1000))]);
    expectEdgeProblem(await send(chunked).answer(), 'payload_too_large', '/auth/login');
    const shorter = aRequest('POST /auth/login', JSON_TYPE, login(16_000));
    expectProblem(await send(shorter).answer(), 401, 'invalid_credentials');
  });

  it('large uploads of another address that stall take no connection of orders', async () => {
    const stalled = aRequest('POST /orders', { ...JSON_TYPE, 'content-length': '200000' }, ' '.repeat(100_000));
    const uploads = Array.from({ length: 600 }, () => new RawConnection(edge, stalled, '127.0.0.2'));
    await sleep(1000);
    for (let count = 0; count < 20; count++) expect(await merchant.create()).toMatchObject({ version: 1 });
    for (const { socket } of uploads) socket.destroy();
  });

  it('uploads that stop leave no order, and the next order of the client is created', async () => {
    const order = anOrder();
    const request = aRequest('POST /orders', { ...JSON_TYPE, ...authorized() }, JSON.stringify(order));
    const stopped = Array.from({ length: 50 }, () => send(request.subarray(0, -1)));
    await Promise.all(stopped.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))));
    for (const { socket } of stopped) socket.destroy();
    expect((await merchant.orders(`external_id=${order.external_id}`)).data).toEqual([]);
    await merchant.create(order);
  });
});

describeWithEdge('pipelined requests through the edge', () => {
  const { edge, merchant } = useEdge();

  function request(line: string, body?: object, connection = 'keep-alive'): Buffer {
    const headers = { authorization: `Bearer ${merchant.tokens.access_token}`, connection };
    return body ? aRequest(line, { ...headers, ...JSON_TYPE }, JSON.stringify(body)) : aRequest(line, headers);
  }

  it('each of a hundred pipelined requests takes effect after the one before it', async () => {
    const orders = Array.from({ length: 25 }, () => anOrder());
    const requests = orders.flatMap((order) => [
      request(`GET /orders?external_id=${order.external_id}`),
      request('POST /orders', order),
      request('POST /orders', { ...order, total: '151.00' }),
      request(`GET /orders?external_id=${order.external_id}`),
    ]);
    const last = request('GET /health/live', undefined, 'close');
    const connection = new RawConnection(edge, Buffer.concat([...requests, last]));
    await connection.closed;
    expect(connection.statuses).toEqual([...orders.flatMap(() => [200, 201, 409, 200]), 200]);
    const answers = connection.received.split(/(?=HTTP\/1\.1 )/).map(parseAnswer);
    const found = answers.filter(({ body }) => body.data).map(({ body }) => body.data.length);
    expect(found).toEqual(orders.flatMap(() => [0, 1]));
  });
});
