import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { Comparisons } from '../support/comparisons.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import type { Tokens } from '../support/shop.js';

const NEW_PASSWORD = 'another battery staple';

describe('changes to a user during its login', () => {
  let comparisons: Comparisons;
  let service: Service;
  let users: ApiUsersService;
  let merchant: TestMerchant;
  let anyone: Client;

  beforeAll(async () => {
    comparisons = new Comparisons();
    service = await startService({ env: { BCRYPT_CONCURRENCY: '2', DATABASE_POOL_SIZE: '10' } });
    users = service.app.get(ApiUsersService);
    anyone = new Client(service);
  });
  beforeEach(async () => {
    merchant = await aMerchant(service);
  });
  afterAll(async () => {
    comparisons.stop();
    await service?.stop();
  });

  const logIn = (password = PASSWORD): Promise<Answer<Tokens>> =>
    anyone.post<Tokens>('/auth/login', { email: merchant.email, password });
  const statusWith = async (token: string): Promise<number> => (await anyone.get('/orders', { token })).status;

  /** Runs `change` after a login has read the user, and before the passwords of two logins are compared. */
  async function twoLoginsDuring(change: () => Promise<unknown>): Promise<Answer<Tokens>[]> {
    comparisons.hold();
    const logins = atOnce(2, () => logIn());
    // They share the comparison, unless one of them reads the user later.
    while (comparisons.costs.length < 1) await sleep(5);
    await change();
    comparisons.release();
    return logins;
  }

  it('a login that started before a password change fails with the old password', async () => {
    const answers = await twoLoginsDuring(() => users.setPassword(merchant.email, NEW_PASSWORD));
    for (const answer of answers) expectProblem(answer, 401, 'invalid_credentials');
    expect(await statusWith(merchant.tokens.access_token)).toBe(401);
    expect((await logIn(NEW_PASSWORD)).status).toBe(201);
  });

  it('a login that started before the user was disabled fails', async () => {
    const answers = await twoLoginsDuring(() => users.setDisabled(merchant.email, true));
    for (const answer of answers) expectProblem(answer, 401, 'invalid_credentials');
    await users.setDisabled(merchant.email, false);
    expect(await statusWith(merchant.tokens.access_token)).toBe(401);
    expect((await logIn()).status).toBe(201);
  });

  it('a login succeeds when the same password is set again while it runs', async () => {
    const answers = await twoLoginsDuring(() => users.setPassword(merchant.email, PASSWORD));
    for (const { status, body } of answers) {
      expect(status).toBe(201);
      expect(await statusWith(body.access_token)).toBe(200);
    }
  });

  it('a password change leaves no session that was created with the old password, in any order of logins and change', async () => {
    let isChanged = false;
    const answers: Answer<Tokens>[] = [];
    const clients = atOnce(8, async () => {
      while (!isChanged) answers.push(await logIn());
    });
    while (!answers.some(({ status }) => status === 201)) await sleep(5);
    await users.setPassword(merchant.email, NEW_PASSWORD);
    isChanged = true;
    await clients;
    const tokens = answers.filter(({ status }) => status === 201).map(({ body }) => String(body.access_token));
    expect(tokens.length).toBeGreaterThan(0);
    expect(new Set(await Promise.all(tokens.map(statusWith)))).toEqual(new Set([401]));
  });

  it('the password does not change when the sessions of the user cannot be revoked', async () => {
    const holder = service.dataSource.createQueryRunner();
    await holder.startTransaction();
    try {
      const [user] = (await holder.query('SELECT id FROM api_users WHERE email = ?', [merchant.email])) as [
        { id: string },
      ];
      await holder.query('SELECT id FROM sessions WHERE api_user_id = ? FOR UPDATE', [user.id]);
      await expect(users.setPassword(merchant.email, NEW_PASSWORD)).rejects.toThrow(/lock wait timeout/i);
    } finally {
      await holder.rollbackTransaction();
      await holder.release();
    }
    expect(await statusWith(merchant.tokens.access_token)).toBe(200);
    expect((await logIn()).status).toBe(201);
    expectProblem(await logIn(NEW_PASSWORD), 401, 'invalid_credentials');
  });
});
