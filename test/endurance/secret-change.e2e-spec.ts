import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createDataSource } from '../../src/schema.js';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';
import { PASSWORD } from '../support/factories.js';
import { seedMerchant } from '../support/seed.js';
import type { Tokens } from '../support/shop.js';

const OLD = 'the-secret-before-the-change-0123456789';
const NEW = 'the-secret-after-the-change-9876543210';

/**
 * Changing JWT_SECRET takes three rolling restarts. During each one, instances of two adjacent steps run side by side:
 * first all instances accept the new secret, then all sign with it, and finally the old one is removed.
 */
const STEPS: Record<string, Record<string, string>> = {
  'the old secret only': { JWT_SECRET: OLD },
  'the old secret and accepts the new one': { JWT_SECRET: OLD, JWT_SECRET_PREVIOUS: NEW },
  'the new secret and accepts the old one': { JWT_SECRET: NEW, JWT_SECRET_PREVIOUS: OLD },
  'the new secret only': { JWT_SECRET: NEW },
};
/** Failed logins of one user from all new networks that are allowed in 15 minutes. */
const USER_LIMIT = 5;
const NAMES = Object.keys(STEPS);

describe('a change of JWT_SECRET', () => {
  let database: TestDatabase;
  const instances = new Map<string, BuiltService>();
  let email: string;
  let tokens: { access_token: string; refresh_token: string };

  beforeAll(async () => {
    database = await createMigratedDatabase();
    email = await seedMerchant(createDataSource(database.url));
    const start = async ([name, env]: [string, Record<string, string>]): Promise<unknown> =>
      instances.set(
        name,
        await startBuiltService(database.url, { ...env, LOGIN_RATE_LIMIT: '1', TRUST_PROXY: 'loopback' }),
      );
    await Promise.all(Object.entries(STEPS).map(start));
  });
  afterAll(async () => {
    await Promise.all([...instances.values()].map((instance) => instance.stop()));
    await database.drop();
  });

  const at = (name: string): Client => new Client(instances.get(name)!);
  const logIn = async (name: string): Promise<void> => {
    tokens = (await at(name).post<Tokens>('/auth/login', { email, password: PASSWORD })).body;
  };
  const refresh = (name: string, token: string): Promise<Answer<Tokens>> =>
    at(name).post<Tokens>('/auth/refresh', { refresh_token: token });

  describe.each([
    [NAMES[0]!, NAMES[1]!],
    [NAMES[1]!, NAMES[0]!],
    [NAMES[1]!, NAMES[2]!],
    [NAMES[2]!, NAMES[1]!],
    [NAMES[2]!, NAMES[3]!],
    [NAMES[3]!, NAMES[2]!],
  ])('when one instance signs with %s and another signs with %s', (one, other) => {
    beforeEach(() => logIn(one));

    it('an access token is valid at an instance that signs with another secret', async () => {
      expect((await at(other).get('/orders', { token: tokens.access_token })).status).toBe(200);
    });

    it('a repeated POST /auth/refresh returns the same token set at an instance that signs with another secret', async () => {
      const first = await refresh(one, tokens.refresh_token);
      expect(first.status).toBe(201);
      const again = await refresh(other, tokens.refresh_token);
      expect(again).toMatchObject({ status: 201, body: first.body });
      for (const name of [one, other])
        expect((await at(name).get('/orders', { token: String(first.body.access_token) })).status).toBe(200);
      expect((await refresh(other, String(first.body.refresh_token))).status).toBe(201);
    });
  });

  it('a network that a user logged in from is known to an instance that signs with another secret', async () => {
    const signedByOther = at(NAMES[2]!);
    const loginFrom = (client: Client, address: string, password: string): Promise<Answer<Tokens>> =>
      client.send('POST', '/auth/login', { body: { email, password }, headers: { 'x-forwarded-for': address } });
    expect((await loginFrom(at(NAMES[1]!), '198.51.100.1', PASSWORD)).status).toBe(201);
    for (let failures = 1; failures <= USER_LIMIT; failures++)
      expectProblem(await loginFrom(signedByOther, `203.0.113.${failures}`, 'wrong'), 401, 'invalid_credentials');
    expectProblem(await loginFrom(signedByOther, '203.0.113.99', PASSWORD), 429, 'too_many_requests');
    expect((await loginFrom(signedByOther, '198.51.100.1', PASSWORD)).status).toBe(201);
  });

  it('an access token is rejected by an instance that does not accept its secret', async () => {
    await logIn(NAMES[0]!);
    const answer = await at(NAMES[3]!).get('/orders', { token: tokens.access_token });
    expectProblem(answer, 401, 'invalid_token');
  });
});
