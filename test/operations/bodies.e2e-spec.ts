import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, anOrder, aUser, type TestMerchant } from '../support/factories.js';
import { aRequest, parseAnswer, sendBytes } from '../support/raw.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';
import { changeUser } from '../support/users.js';

const KIB = 1024;

const { service, merchant } = useService();

/** The head of a request whose body is announced but not sent. */
function headOf(path: string, bytes: number, token?: string): string {
  return aRequest(`POST ${path}`, {
    'content-type': 'application/json',
    'content-length': String(bytes),
    connection: 'keep-alive',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }).toString();
}

const manyMembers = (): object => Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`a${at}`, 0]));

describe('a body whose end is held back', () => {
  /** Sends a grant of a till, but its last byte only after `meanwhile`. */
  async function grantDuring(meanwhile: (till: TestMerchant) => Promise<unknown>): Promise<[Answer, TestMerchant]> {
    const till = await aUser(service, merchant.id, ['grants', 'sell']);
    const body = JSON.stringify({ external_id: 'G-1', document: aDocument(), amount: '5.00' });
    const { hostname, port } = new URL(service.url);
    const token = { authorization: `Bearer ${till.tokens.access_token}` };
    const bytes = aRequest('POST /grants', { 'content-type': 'application/json', ...token }, body);
    const socket = connect(Number(port), hostname, () => socket.write(bytes.subarray(0, -1)));
    let received = '';
    socket.on('data', (chunk) => (received += String(chunk)));
    // By now the token has been looked at.
    await sleep(300);
    await meanwhile(till);
    socket.write(bytes.subarray(-1));
    await once(socket, 'close');
    return [parseAnswer(received), till];
  }

  it.each([
    ['disabled', 401, 'invalid_token', (till: TestMerchant) => changeUser(service, till, { isDisabled: true })],
    [
      'given another password',
      401,
      'invalid_token',
      (till: TestMerchant) => changeUser(service, till, { password: 'another password' }),
    ],
    ['logged out', 401, 'invalid_token', (till: TestMerchant) => till.client.send('POST', '/auth/logout')],
    [
      'denied the permission',
      403,
      'forbidden',
      (till: TestMerchant) => changeUser(service, till, { permissions: ['sell'] }),
    ],
  ])('a user that is %s meanwhile grants nothing', async (_, status, code, meanwhile) => {
    const [answer, till] = await grantDuring(meanwhile);
    expectProblem(answer, status, code);
    expect(await rowsOf(service, 'SELECT 1 FROM cashback_grants WHERE created_by = ?', [till.userId])).toEqual([]);
  });

  it('a user that is changed in no such way grants', async () => {
    const [answer] = await grantDuring((till) => changeUser(service, till, { name: 'Caixa 9' }));
    expect(answer.status).toBe(201);
  });
});

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

  it.each(['/auth/login', '/auth/refresh', '/orders'])(
    'POST %s refuses 20,000 unknown members with a response that lists 100 errors',
    async (path) => {
      const answer = await merchant.client.post(path, manyMembers());
      expectProblem(answer, 400, 'validation_failed');
      expect(answer.body.errors).toHaveLength(100);
      expect(answer.body.detail).toBe('more than 100 members are not valid');
    },
  );

  it('POST /orders shortens the name of an unknown member of 250,000 characters', async () => {
    const answer = await merchant.client.post('/orders', { ...anOrder(), ['x'.repeat(250_000)]: 1 });
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body.errors).toEqual([
      { pointer: `/${'x'.repeat(100)}…`, detail: 'is not a member of this request' },
    ]);
  });

  const noBody = (path: string, raw: string, type = 'application/json'): Promise<Answer> =>
    merchant.client.send('POST', path, { raw, headers: { 'content-type': type } });

  it.each([
    ['a member', '{"amount":"10.00"}', { pointer: '/amount', detail: 'is not a member of this request' }],
    ['an array', '[1]', { pointer: '', detail: 'must be an object' }],
    ['a text', '"x"', { pointer: '', detail: 'must be an object' }],
  ])('an operation whose body is optional refuses %s, changes nothing, and accepts {}', async (_, raw, error) => {
    const document = aDocument();
    const given = await merchant.grant({ external_id: document, document, amount: '50.00' });
    const refund = await merchant.refund(await merchant.completed({ document }), '10.00');
    const voids = [`/debits/${(await merchant.debit({ document })).id}/void`];
    voids.push(`/orders/${refund.order_id}/refunds/${refund.id}/void`);
    const order = await merchant.create({ document });
    for (const path of [`/grants/${given.id}/void`, `/orders/${order.id}/cancel`, ...voids])
      for (const _attempt of ['first', 'second']) {
        const answer = await noBody(path, raw);
        expectProblem(answer, 400, 'validation_failed');
        expect(answer.body.errors).toEqual([error]);
      }
    expect(await merchant.order(order)).toEqual(order);
    expect(await merchant.wallet(document)).toMatchObject({ available: '30.00' });
    for (const path of voids)
      expect(await noBody(path, '{}')).toMatchObject({ status: 200, body: { voided_by: merchant.by } });
    expect(await noBody(`/orders/${order.id}/cancel`, '{}')).toMatchObject({ body: { status: 'cancelled' } });
    expect(await noBody(`/grants/${given.id}/void`, '{}')).toMatchObject({ body: { voided: '50.00' } });
  });

  it.each([
    ['a member', '{"amount":"10.00"}', '/amount'],
    ['an array', '[1]', '/0'],
    ['a text', '"x"', '/0'],
  ])('an operation that takes no body refuses %s, and accepts {}', async (_, raw, pointer) => {
    const { client } = await aUser(service, merchant.id);
    const logout = (body: string): Promise<Answer> =>
      client.send('POST', '/auth/logout', { raw: body, headers: { 'content-type': 'application/json' } });
    for (const _attempt of ['first', 'second']) {
      const answer = await logout(raw);
      expectProblem(answer, 400, 'validation_failed');
      expect(answer.body.errors).toEqual([{ pointer, detail: 'is not a member of this request' }]);
    }
    expect((await logout('{}')).status).toBe(204);
  });

  it.each([
    ['invalid JSON', '{', 'application/json', 400, 'malformed_json'],
    ['a text', 'x', 'text/plain', 415, 'unsupported_media_type'],
  ] as const)('an operation whose body is optional refuses %s', async (_, raw, type, status, code) => {
    const order = await merchant.create();
    expectProblem(await noBody(`/orders/${order.id}/cancel`, raw, type), status, code);
  });

  it('a GET ignores its body, which has no meaning', async () => {
    const request = aRequest('GET /health/live', { 'content-type': 'text/plain' }, 'x');
    expect((await sendBytes(service, request)).status).toBe(200);
  });

  it('POST /orders reports one error for 4,000 items where 500 are allowed', async () => {
    const { errors } = await merchant.create({ items: Array(4_000).fill({}) }).refused(400, 'validation_failed');
    expect(errors).toEqual([{ pointer: '/items', detail: 'must be an array of 1 to 500 items' }]);
  });
});
