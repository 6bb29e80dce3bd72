import { beforeEach, describe, expect, it } from '@jest/globals';
import { createHash, randomUUID } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { statementsOf } from '../support/server-counters.js';
import { TEST_SECRET } from '../support/service.js';
import { useService } from '../support/use-service.js';
import type { Tokens } from '../support/shop.js';
import { changeUser } from '../support/users.js';

const GUARDED = [
  ['POST', '/orders'],
  ['GET', '/orders'],
  ['POST', '/orders/search'],
  ['GET', '/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10'],
  ['PUT', '/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10/redemption'],
  ['POST', '/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10/complete'],
  ['POST', '/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10/cancel'],
  ['POST', '/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10/refunds'],
  ['POST', '/quotes'],
  ['GET', '/policy'],
  ['POST', '/grants'],
  ['GET', '/grants/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10'],
  ['POST', '/grants/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10/void'],
  ['POST', '/wallets/search'],
  ['GET', '/wallets/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10/credits'],
  ['GET', '/wallets/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10/entries'],
  ['POST', '/auth/logout'],
] as const;

let merchant: TestMerchant;

const { service } = useService();
const anyone = new Client(service);
beforeEach(async () => {
  merchant = await aMerchant(service);
});

const list = (authorization?: string): Promise<Answer> =>
  anyone.get('/orders', { headers: authorization === undefined ? {} : { authorization } });

function expectInvalidToken(answer: Answer<unknown>): void {
  expectProblem(answer, 401, 'invalid_token');
  expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="cashback", error="invalid_token"/);
}

describe('access tokens', () => {
  it.each(GUARDED)(
    '%s %s returns 401 missing_token without an access token, before it validates the request',
    async (method, path) => {
      const missing = await anyone.send(method, path);
      expectProblem(missing, 401, 'missing_token');
      expect(missing.headers.get('www-authenticate')).toBe('Bearer realm="cashback"');
      expectInvalidToken(await anyone.send(method, path, { token: 'cbat_00000000-0000-4000-8000-000000000000' }));
    },
  );

  it('the service reads the access token from the Authorization header only', async () => {
    const { access_token: token } = merchant.tokens;
    expectProblem(await anyone.get(`/orders?access_token=${token}`), 401, 'missing_token');
    expectProblem(await anyone.post('/orders', { ...anOrder(), access_token: token }), 401, 'missing_token');
    expectProblem(
      await anyone.get('/orders', { headers: { cookie: `access_token=${token}`, 'x-access-token': token } }),
      401,
      'missing_token',
    );
  });

  it('GET /orders returns 401 when the token differs from an access token in any character', async () => {
    const { access_token: token, refresh_token: refreshToken } = merchant.tokens;
    for (const almost of [
      token.toUpperCase(),
      token.slice(0, -1),
      `${token}0`,
      token.slice(5),
      `${token} ${token}`,
      `"${token}"`,
      refreshToken,
    ]) {
      expectInvalidToken(await list(`Bearer ${almost}`));
    }
  });

  it('GET /orders returns 401 when the Authorization header contains invalid UTF-8', async () => {
    const bytes = aRequest('GET /orders', { authorization: 'Bearer \xff\xfe\x80' });
    expectInvalidToken(await sendBytes(service, bytes));
  });

  it('an access token is valid for one hour and expires exactly at access_token_expire_at', async () => {
    const left = Date.parse(merchant.tokens.access_token_expire_at) - service.clock.now().getTime();
    await service.clock.advance({ ms: left - 30_000 });
    await merchant.orders();
    await service.clock.advance({ ms: 30_000 });
    expectInvalidToken(await merchant.orders().answer);
  });

  it('disabling a user invalidates its access token immediately and affects no other merchant', async () => {
    const other = await aMerchant(service);
    await changeUser(service, merchant, { isDisabled: true });
    expectInvalidToken(await merchant.orders().answer);
    await other.orders();
  });
});

describe('POST /auth/logout', () => {
  it('POST /auth/logout returns 204 without a body and revokes every token of the session', async () => {
    const { body: next } = await anyone.post<Tokens>('/auth/refresh', { refresh_token: merchant.tokens.refresh_token });
    const answer = await merchant.client.send('POST', '/auth/logout');
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 204, body: '' });
    expectInvalidToken(await merchant.orders().answer);
    expectInvalidToken(await anyone.get('/orders', { token: next.access_token }));
    expectProblem(
      await anyone.post<Tokens>('/auth/refresh', { refresh_token: next.refresh_token }),
      401,
      'invalid_refresh_token',
    );
  });

  it('POST /auth/logout returns 401 when the token is already revoked', async () => {
    await merchant.client.send('POST', '/auth/logout');
    expectInvalidToken(await merchant.client.send('POST', '/auth/logout'));
  });

  it('twenty concurrent POST /auth/logout requests return only 204 or 401', async () => {
    const answers = await atOnce(20, () => merchant.client.send('POST', '/auth/logout'));
    expect(answers.filter(({ status }) => status !== 204 && status !== 401)).toEqual([]);
    expect(answers.some(({ status }) => status === 204)).toBe(true);
    expectInvalidToken(await merchant.orders().answer);
  });

  it('POST /auth/logout does not affect other sessions of the user or other merchants', async () => {
    const other = await aMerchant(service);
    const sibling = await anyone.post<Tokens>('/auth/login', { email: merchant.email, password: merchant.password });
    await merchant.client.send('POST', '/auth/logout');
    expect((await anyone.get('/orders', { token: sibling.body.access_token })).status).toBe(200);
    await other.orders();
  });

  it('POST /auth/logout refuses a member and keeps the session', async () => {
    expectProblem(await merchant.client.post('/auth/logout', { all: true }), 400, 'validation_failed');
    await merchant.orders();
  });
});

describe('the JWT of an access token', () => {
  const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
  const jwtOf = async ({ tokens }: TestMerchant): Promise<string> => {
    const rows = await service.dataSource.query<{ jwt: string }[]>('SELECT jwt FROM token_sets WHERE access_hash = ?', [
      hashOf(tokens.access_token),
    ]);
    return rows[0]!.jwt;
  };
  const replaceJwt = ({ tokens }: TestMerchant, replaced: string): Promise<unknown> =>
    service.dataSource.query('UPDATE token_sets SET jwt = ? WHERE access_hash = ?', [
      replaced,
      hashOf(tokens.access_token),
    ]);
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claimsOf = async (of: TestMerchant): Promise<Record<string, unknown>> =>
    jwt.decode(await jwtOf(of)) as Record<string, unknown>;

  it('the JWT of an access token is signed with HS256 and contains the user, merchant, session, token set, and expiry', async () => {
    const { header, payload } = jwt.decode(await jwtOf(merchant), { complete: true }) ?? {};
    expect(header).toEqual({ alg: 'HS256', typ: 'JWT' });
    expect(payload).toEqual({
      iss: 'cashback-order-service',
      aud: 'cashback-orders',
      sub: expect.stringMatching(/^[0-9a-f-]{36}$/),
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      sid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      merchant_id: merchant.id,
      iat: expect.any(Number),
      exp: Math.ceil(Date.parse(merchant.tokens.access_token_expire_at) / 1000),
    });
  });

  it('GET /orders returns 401 when the JWT itself is sent as the access token', async () => {
    expectInvalidToken(await list(`Bearer ${await jwtOf(merchant)}`));
  });

  it.each<[string, (claims: Record<string, unknown>, genuine: string) => string]>([
    [
      'with another merchant and the old signature',
      (claims, genuine) => genuine.replace(/\..*\./, `.${part({ ...claims, merchant_id: claims.sub })}.`),
    ],
    ['signed with another secret', (claims) => jwt.sign(claims, `${TEST_SECRET}!`)],
    ['signed with HS512', (claims) => jwt.sign(claims, TEST_SECRET, { algorithm: 'HS512' })],
    ['signed with HS384', (claims) => jwt.sign(claims, TEST_SECRET, { algorithm: 'HS384' })],
    ['not signed (alg none)', (claims) => `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`],
    ['without an expiry', ({ exp: _, ...claims }) => jwt.sign(claims, TEST_SECRET)],
    ['that has expired', (claims) => jwt.sign({ ...claims, exp: 1 }, TEST_SECRET)],
    ['not valid yet', (claims) => jwt.sign({ ...claims, nbf: 99_999_999_999 }, TEST_SECRET)],
    ['of another issuer', (claims) => jwt.sign({ ...claims, iss: 'someone' }, TEST_SECRET)],
    ['for another audience', (claims) => jwt.sign({ ...claims, aud: 'others' }, TEST_SECRET)],
    ['without an audience', ({ aud: _, ...claims }) => jwt.sign(claims, TEST_SECRET)],
    ['without a subject', ({ sub: _, ...claims }) => jwt.sign(claims, TEST_SECRET)],
    ['without a merchant', ({ merchant_id: _, ...claims }) => jwt.sign(claims, TEST_SECRET)],
    ['whose merchant is not a string', (claims) => jwt.sign({ ...claims, merchant_id: { length: 1 } }, TEST_SECRET)],
    ['that is an array', (claims) => jwt.sign(JSON.stringify([claims]), TEST_SECRET)],
    ['that is not a JWT', () => 'not-a-jwt'],
    ['that is empty', () => ''],
  ])('GET /orders returns 401 when the stored JWT is one %s', async (_, forge) => {
    await replaceJwt(merchant, forge(await claimsOf(merchant), await jwtOf(merchant)));
    expectInvalidToken(await merchant.orders().answer);
  });
});

describe('made-up tokens', () => {
  const { service, merchant } = useService({ env: { DATABASE_POOL_SIZE: '1', RATE_LIMIT: '3' } });
  const anyone = new Client(service);

  it('GET /orders rejects any number of made-up access tokens with 401 and no SQL statement', async () => {
    const { access_token: genuine, refresh_token: refreshToken } = merchant.tokens;
    const inventions = [
      ...Array.from({ length: 40 }, () => `cbat_${randomUUID()}`),
      'x',
      refreshToken,
      genuine.slice(5),
      `${genuine}0`,
      genuine.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
    ];
    const statements = await statementsOf(service, async () => {
      for (const token of inventions) expectProblem(await anyone.get('/orders', { token }), 401, 'invalid_token');
    });
    expect(statements).toBe(0);
  });

  it('made-up access tokens do not affect a valid access token from the same network', async () => {
    for (let time = 0; time < 30; time++) await anyone.get('/orders', { token: `cbat_${randomUUID()}` });
    expect(await merchant.orders()).toMatchObject({ data: [] });
  });

  it('POST /auth/refresh rejects a malformed refresh token with 401 and no SQL statement', async () => {
    const statements = await statementsOf(service, async () => {
      for (const token of ['x', merchant.tokens.access_token, `cbrt_${'0'.repeat(36)}`])
        expectProblem(
          await anyone.post<Tokens>('/auth/refresh', { refresh_token: token }),
          401,
          'invalid_refresh_token',
        );
    });
    expect(statements).toBe(0);
  });

  it('POST /auth/refresh runs one SQL statement per made-up token within the rate limit of the network and none above it', async () => {
    let lookups = 0;
    const statements = await statementsOf(service, async () => {
      for (let time = 0; time < 80; time++) {
        const { status } = await anyone.post<Tokens>('/auth/refresh', { refresh_token: `cbrt_${randomUUID()}` });
        expect([401, 429]).toContain(status);
        if (status === 401) lookups += 1;
      }
    });
    expect(lookups).toBeLessThan(80);
    expect(statements).toBe(lookups);
  });
});
