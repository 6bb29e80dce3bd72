import { connect, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aRequest } from '../support/raw.js';
import { type Service, startService } from '../support/service.js';

describe('a client that does not read responses', () => {
  /** Without a merchant: the connection of its login would be counted. */
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service?.stop());

  it('the service disconnects a client that does not read its responses', async () => {
    const { hostname, port } = new URL(service.url);
    const server = service.app.getHttpServer() as Server;
    const connections = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.pause();
    // These responses exceed the socket buffers of the kernel.
    const request = aRequest('GET /docs/swagger-ui-bundle.js', { connection: 'keep-alive' });
    socket.write(Buffer.concat(Array<Buffer>(10).fill(request)));
    while ((await connections()) === 0) await sleep(20);
    try {
      while ((await connections()) > 0) await sleep(200);
      expect(await connections()).toBe(0);
    } finally {
      socket.destroy();
    }
  });
});
