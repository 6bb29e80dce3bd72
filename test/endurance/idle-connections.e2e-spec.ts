import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aRequest } from '../support/raw.js';

/** Together their requests need far more memory than the heap has. */
const CONNECTIONS = 600;

describe('the build with a heap of 160 MiB', () => {
  let database: TestDatabase;
  let service: BuiltService;

  beforeAll(async () => {
    database = await createMigratedDatabase();
  });
  beforeEach(async () => {
    service = await startBuiltService(database.url, { NODE_OPTIONS: '--max-old-space-size=160' });
  });
  afterEach(() => service.kill());
  afterAll(() => database.drop());

  it('idle connections hold nothing of their last request, so 600 large bodies do not exhaust the heap', async () => {
    // A body of almost as many values, and of as many bytes, as a request may have.
    const body = JSON.stringify({ email: 'x', a: Array(9000).fill('x'), b: 'x'.repeat(220_000) });
    const request = aRequest(
      'POST /auth/login',
      { 'content-type': 'application/json', connection: 'keep-alive' },
      body,
    );
    const { hostname, port } = new URL(service.url);
    const sockets: Socket[] = [];
    const statuses: string[] = [];
    for (let opened = 0; opened < CONNECTIONS && service.process.exitCode === null; opened++) {
      const socket = connect(Number(port), hostname, () => socket.write(request));
      sockets.push(socket);
      statuses.push(
        await new Promise((resolve) => {
          socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1', 9, 12)));
          socket.once('close', () => resolve('closed')).on('error', () => undefined);
        }),
      );
    }
    expect({ statuses, code: service.process.exitCode, signal: service.process.signalCode }).toEqual({
      statuses: Array(CONNECTIONS).fill('400'),
      code: null,
      signal: null,
    });
    for (const socket of sockets) socket.destroy();
  });

  const login = (fields: string): string =>
    `POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1\r\n${fields}\r\n`;
  const chunkedLogin = login('').replace('content-length: 1', 'transfer-encoding: chunked');

  it.each([
    ['a large header field', 8000, login(`x: ${'x'.repeat(15_000)}\r\n`)],
    ['thousands of header fields', 4000, login('a:\r\n'.repeat(2800))],
    ['thousands of chunks of a body', 400, `${chunkedLogin}${'1\r\nx\r\n'.repeat(20_000)}`],
    ['thousands of pipelined requests', 1000, 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1700)],
    [
      'large pipelined requests',
      2000,
      `GET /orders HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(14_000)}\r\n\r\n`.repeat(17),
    ],
    [
      'pipelined requests that have thousands of chunks',
      1000,
      `GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n${`${chunkedLogin}${'1\r\nx\r\n'.repeat(1990)}0\r\n\r\n`.repeat(15)}`,
    ],
  ])('connections with %s and no token do not exhaust the heap', async (_with, count, bytes) => {
    const { hostname, port } = new URL(service.url);
    const sockets = Array.from({ length: count }, () => {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true }, () => socket.write(bytes));
      return socket.on('error', () => undefined).resume();
    });
    const live: unknown[] = [];
    for (let turn = 0; turn < 20 && service.process.exitCode === null; turn++) {
      live.push(
        (await fetch(new URL('/health/live', service.url)).catch((error: unknown) => ({ status: error }))).status,
      );
      await sleep(200);
    }
    for (const socket of sockets) socket.destroy();
    expect({ live, signal: service.process.signalCode }).toEqual({ live: Array(20).fill(200), signal: null });
  });
});
