import { connect, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce, Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { aRequest } from '../support/raw.js';
import { type Service, startService } from '../support/service.js';
import { SlowClient } from '../support/slow-client.js';

const KIB = 1024;
const MIB = 1024 * KIB;

let service: Service;
let merchant: TestMerchant;

beforeAll(async () => {
  service = await startService();
  merchant = await aMerchant(service);
});
afterAll(() => service.stop());

/** The head of a request whose body is announced and does not come. */
function headOf(path: string, bytes: number, token?: string): string {
  return aRequest(`POST ${path}`, {
    'content-type': 'application/json',
    'content-length': String(bytes),
    connection: 'keep-alive',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }).toString();
}

describe('a request with a body', () => {
  it.each([
    ['no token', undefined, 'missing_token'],
    ['an unknown token', 'cbat_unknown', 'invalid_token'],
  ])('and %s is answered before its body arrives', async (_, token, code) => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname, () => socket.write(headOf('/orders', 255 * KIB, token)));
    const answer = await new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toContain(code);
  });

  it.each(['/auth/login', '/auth/refresh'])(
    'to %s with 22,000 unknown members is answered by its own members',
    async (path) => {
      const unknown = Object.fromEntries(Array.from({ length: 22_000 }, (_, at) => [`a${at}`, 0]));
      const { status } = await new Client(service).post(path, {
        ...unknown,
        email: 'nobody@shop.example',
        password: 'x',
        refresh_token: 'x',
      });
      expect(status).toBe(401);
    },
  );

  it.each(['/auth/login', '/auth/refresh', '/orders'])('to %s of more than 256 KiB are 413', async (path) => {
    const raw = JSON.stringify({ padding: 'x'.repeat(256 * KIB) });
    expectProblem(await merchant.client.send('POST', path, { raw }), 413, 'payload_too_large');
  });

  it('with 22,000 unknown members creates its order', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 22_000 }, (_, at) => [`a${at}`, 0]));
    const { status } = await merchant.client.post('/orders', { ...unknown, ...anOrder() });
    expect(status).toBe(201);
  });

  it('with 60,000 elements where 500 are allowed gets one fault', async () => {
    const { body } = await merchant.client.post('/orders', anOrder({ items: Array(60_000).fill({}) }));
    expect(body.errors).toEqual([{ pointer: '/items', detail: 'must be an array of 1 to 500 items' }]);
  });
});

describe('bodies that do not end', () => {
  it('are held up to 32 MiB in all: above that the oldest are refused with 503, and others are served', async () => {
    const body = Buffer.alloc(250 * KIB, ' ');
    const idle = Array.from({ length: 160 }, () => {
      const head = headOf('/orders', 255 * KIB, merchant.tokens.access_token);
      return new SlowClient(service.url, head + body.toString());
    });
    const answered = (): SlowClient[] => idle.filter(({ received }) => received !== '');
    while (answered().length < 20) await sleep(20);
    const orders = await atOnce(5, () => merchant.client.post('/orders', anOrder()));
    const refused = await Promise.all(answered().map((client) => client.answer()));
    for (const client of idle) client.close();

    expect(orders.map(({ status }) => status)).toEqual(Array(5).fill(201));
    for (const answer of refused) {
      expectProblem(answer, 503, 'unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect((idle.length - refused.length) * body.length).toBeLessThan(33 * MIB);
  });
});

describe('a client that does not read its answers', () => {
  it('is disconnected', async () => {
    // A service without other clients: its connections are counted.
    const other = await startService();
    const { hostname, port } = new URL(other.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.pause();
    // Answers that exceed what the kernel holds for a reader.
    const request = aRequest('GET /docs/swagger-ui-bundle.js', { connection: 'keep-alive' });
    socket.write(Buffer.concat(Array<Buffer>(20).fill(request)));
    const server = other.app.getHttpServer() as Server;
    const connections = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    while ((await connections()) === 0) await sleep(20);
    try {
      while ((await connections()) > 0) await sleep(200);
      expect(await connections()).toBe(0);
    } finally {
      socket.destroy();
      await other.stop();
    }
  });
});
