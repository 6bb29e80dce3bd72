import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce, Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { aRequest, sendBytes } from '../support/raw.js';
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

/** The head of a request whose body is announced but not sent. */
function headOf(path: string, bytes: number, token?: string): string {
  return aRequest(`POST ${path}`, {
    'content-type': 'application/json',
    'content-length': String(bytes),
    connection: 'keep-alive',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }).toString();
}

describe('request bodies', () => {
  it.each([
    ['no token', undefined, 'missing_token'],
    ['an unknown token', 'cbat_unknown', 'invalid_token'],
  ])('POST /orders with %s returns 401 before the request body arrives', async (_, token, code) => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname, () => socket.write(headOf('/orders', 255 * KIB, token)));
    const answer = await new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toContain(code);
  });

  it.each(['/auth/login', '/auth/refresh'])('POST %s ignores 9,000 unknown members', async (path) => {
    const unknown = Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`a${at}`, 0]));
    const { status } = await new Client(service).post(path, {
      ...unknown,
      email: 'nobody@shop.example',
      password: 'x',
      refresh_token: 'x',
    });
    expect(status).toBe(401);
  });

  it.each(['/auth/login', '/auth/refresh', '/orders'])(
    'POST %s returns 413 when the body exceeds 256 KiB',
    async (path) => {
      const raw = JSON.stringify({ padding: 'x'.repeat(256 * KIB) });
      expectProblem(await merchant.client.send('POST', path, { raw }), 413, 'payload_too_large');
    },
  );

  it('POST /orders creates an order when the body has 9,000 unknown members', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`a${at}`, 0]));
    const { status } = await merchant.client.post('/orders', { ...unknown, ...anOrder() });
    expect(status).toBe(201);
  });

  it.each([
    ['members', JSON.stringify(Object.fromEntries(Array.from({ length: 11_000 }, (_, at) => [`a${at}`, 0])))],
    ['numbers', JSON.stringify({ a: Array(11_000).fill(0) })],
    ['empty arrays', JSON.stringify({ a: Array(5_100).fill([]) })],
    ['nested arrays', JSON.stringify({ a: Array(200).fill(JSON.parse('['.repeat(60) + ']'.repeat(60))) })],
  ])('POST /orders returns malformed_json for a body with more than 10,000 %s', async (_, raw) => {
    const answer = await merchant.client.send('POST', '/orders', { raw });
    expectProblem(answer, 400, 'malformed_json');
    expect(answer.body.detail).toBe('the body has more than 10000 members and elements');
  });

  it('commas and brackets inside strings do not count as members and elements', async () => {
    const { status } = await merchant.client.post('/orders', { ...anOrder(), padding: '"[{,\\'.repeat(20_000) });
    expect(status).toBe(201);
  });

  it.each([
    ['invalid JSON', 'application/json', '{'],
    ['a text', 'text/plain', 'x'],
    ['100,000 arrays', 'application/json', '['.repeat(100_000)],
  ])('an operation that takes no body ignores %s', async (_, type, raw) => {
    const headers = { 'content-type': type };
    const order = await merchant.client.post('/orders', anOrder());
    const cancel = await merchant.client.send('POST', `/orders/${order.body.id}/cancel`, { raw, headers });
    expect({ status: cancel.status, order: cancel.body.status }).toEqual({ status: 200, order: 'cancelled' });
    const request = aRequest('GET /health/live', headers, raw);
    expect((await sendBytes(service, request)).status).toBe(200);
  });

  it('POST /orders reports one error for 4,000 items where 500 are allowed', async () => {
    const { body } = await merchant.client.post('/orders', anOrder({ items: Array(4_000).fill({}) }));
    expect(body.errors).toEqual([{ pointer: '/items', detail: 'must be an array of 1 to 500 items' }]);
  });
});

describe('incomplete request bodies', () => {
  it('above 24 MiB of incomplete bodies, the oldest requests return 503 and other requests succeed', async () => {
    const body = Buffer.alloc(250 * KIB, ' ');
    const idle = Array.from({ length: 160 }, () => {
      const head = headOf('/orders', 255 * KIB, merchant.tokens.access_token);
      return new SlowClient(service.url, head + body.toString());
    });
    const answered = (): SlowClient[] => idle.filter(({ received }) => received !== '');
    while (answered().length < 60) await sleep(20);
    const orders = await atOnce(5, () => merchant.client.post('/orders', anOrder()));
    const refused = await Promise.all(answered().map((client) => client.answer()));
    for (const client of idle) client.close();

    expect(orders.map(({ status }) => status)).toEqual(Array(5).fill(201));
    for (const answer of refused) {
      expectProblem(answer, 503, 'unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect((idle.length - refused.length) * body.length).toBeLessThan(25 * MIB);
  });
});
