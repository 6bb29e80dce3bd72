import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
    service = await startBuiltService(database.url, { NODE_OPTIONS: '--max-old-space-size=160' });
  });
  afterAll(async () => {
    await service?.kill();
    await database?.drop();
  });

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
});
