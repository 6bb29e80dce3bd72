import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { Passwords } from '../../src/auth/passwords.js';
import { Config } from '../../src/platform/config/config.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { Comparisons } from '../support/comparisons.js';
import { createMigratedDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { startService } from '../support/service.js';
import type { Tokens } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';
import { changeUser } from '../support/users.js';

const WORKERS = 20;
const NEW_PASSWORD = 'another battery staple';

let comparisons: Comparisons;

beforeAll(() => {
  comparisons = new Comparisons();
});
afterAll(() => comparisons.stop());

describe('logins at once', () => {
  const { service, merchant } = useService({
    env: { BCRYPT_CONCURRENCY: '1', TRUST_PROXY: '1', DATABASE_POOL_SIZE: '10' },
  });
  beforeEach(() => comparisons.hold());
  afterEach(() => comparisons.release());

  const logIn = ({ email, password = PASSWORD }: { email: string; password?: string }, network = '192.0.2.1') =>
    new Client(service).send('POST', '/auth/login', {
      body: { email, password },
      headers: { 'x-forwarded-for': network },
    });

  async function until(isReached: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isReached())) await sleep(10);
  }

  /** Waits until a metric has at least a value. On a slow machine, repeated requests are counted again. */
  async function untilAtLeast(value: number, metric: string): Promise<void> {
    await until(async () => {
      const { body } = await new Client(service).get<string>('/metrics');
      const line = body.split('\n').find((one) => one.startsWith(metric));
      return Number(line?.split(' ')[1]) >= value;
    });
  }
  const untilRunning = (requests: number): Promise<void> => untilAtLeast(requests, 'http_requests{state="running"}');
  const untilWaiting = (logins: number): Promise<void> => untilAtLeast(logins, 'bcrypt_comparisons{state="waiting"}');

  it('twenty workers of one user that log in at once share a comparison, and all get a session that no other one ends', async () => {
    const logins = atOnce(WORKERS, () => logIn(merchant));
    await untilRunning(WORKERS);
    comparisons.release();
    const answers = await logins;
    expect(answers.map(({ status }) => status)).toEqual(Array(WORKERS).fill(201));
    const tokens = answers.flatMap(({ body }) => [body.access_token, body.refresh_token] as string[]);
    expect(new Set(tokens).size).toBe(2 * WORKERS);
    // A login that still read its user when the first comparison was released starts another one.
    expect(comparisons.costs.length).toBeLessThan(WORKERS);
    const [first, ...others] = answers.map(({ body }) => new Client(service, body.access_token as string));
    expect((await first!.post('/auth/logout')).status).toBe(204);
    expect((await first!.get('/policy')).status).toBe(401);
    for (const other of others) expect((await other.get('/policy')).status).toBe(200);
  });

  it('a wrong and a right password of one user do not share a comparison', async () => {
    const right = logIn(merchant);
    await until(() => comparisons.costs.length === 1);
    const wrong = logIn({ ...merchant, password: 'a wrong password' }, '192.0.2.2');
    await untilRunning(2);
    comparisons.release();
    expect([(await right).status, (await wrong).status]).toEqual([201, 401]);
    expect(comparisons.costs.length).toBeGreaterThanOrEqual(2);
  });

  it('two unknown emails do not share a comparison, so that they take as long as known ones', async () => {
    const logins = ['one@shop.example', 'two@shop.example'].map((email) => logIn({ email }));
    await untilRunning(2);
    comparisons.release();
    for (const { status } of await Promise.all(logins)) expect(status).toBe(401);
    expect(comparisons.costs.length).toBeGreaterThanOrEqual(2);
  });

  it('BCRYPT_CONCURRENCY passwords are compared at the same time', async () => {
    comparisons.release();
    const users = await Promise.all([aMerchant, aMerchant].map((create) => create(service)));
    comparisons.hold();
    const logins = users.map((user) => logIn(user));
    await untilRunning(2);
    expect(comparisons.costs).toHaveLength(1);
    comparisons.release();
    for (const { status } of await Promise.all(logins)) expect(status).toBe(201);
    expect(comparisons.costs.length).toBeGreaterThanOrEqual(2);
  });

  it('many logins from one network delay a login from another network by two of them', async () => {
    const CROWD = 6;
    let compared: string[] = [];
    // If a login was repeated because it waited too long, as on a slow machine, the turns say nothing.
    for (let isRepeated: boolean | undefined = true; isRepeated;) {
      comparisons.hold();
      const many = atOnce(CROWD, (index) => logIn({ email: `user-${index}@shop.example` }));
      await untilWaiting(CROWD - 1);
      const other = logIn(merchant, '198.51.100.1');
      await untilWaiting(CROWD);
      for (const started of [2, 3]) {
        comparisons.releaseOne();
        await until(() => comparisons.hashes.length >= started);
      }
      compared = comparisons.hashes.slice(0, 3);
      comparisons.release();
      expect((await other).status).toBe(201);
      isRepeated = [...(await many), await other].some((answer) => answer.isRepeated);
    }
    // Unknown users share a hash.
    expect(new Set(compared).size).toBe(2);
  });
});

describe('changes to a user during its login', () => {
  const { service } = useService({ env: { BCRYPT_CONCURRENCY: '2', DATABASE_POOL_SIZE: '10' } });
  const anyone = new Client(service);
  let merchant: TestMerchant;

  beforeEach(async () => {
    merchant = await aMerchant(service);
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
    const answers = await twoLoginsDuring(() => changeUser(service, merchant, { password: NEW_PASSWORD }));
    for (const answer of answers) expectProblem(answer, 401, 'invalid_credentials');
    expect(await statusWith(merchant.tokens.access_token)).toBe(401);
    expect((await logIn(NEW_PASSWORD)).status).toBe(201);
  });

  it('a login that started before the user was disabled fails', async () => {
    const answers = await twoLoginsDuring(() => changeUser(service, merchant, { isDisabled: true }));
    for (const answer of answers) expectProblem(answer, 401, 'invalid_credentials');
    await changeUser(service, merchant, { isDisabled: false });
    expect(await statusWith(merchant.tokens.access_token)).toBe(401);
    expect((await logIn()).status).toBe(201);
  });

  it('a login succeeds when the same password is set again while it runs', async () => {
    const answers = await twoLoginsDuring(() => changeUser(service, merchant, { password: PASSWORD }));
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
    await changeUser(service, merchant, { password: NEW_PASSWORD });
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
      await expect(changeUser(service, merchant, { password: NEW_PASSWORD })).rejects.toThrow(/lock wait timeout/i);
    } finally {
      await holder.rollbackTransaction();
      await holder.release();
    }
    expect(await statusWith(merchant.tokens.access_token)).toBe(200);
    expect((await logIn()).status).toBe(201);
    expectProblem(await logIn(NEW_PASSWORD), 401, 'invalid_credentials');
  });
});

/**
 * These tests count the bcrypt comparisons of one login and read their cost, because they determine how long a login
 * takes. The duration itself is measured by a benchmark.
 */
describe('the cost of a login', () => {
  const { service, merchant } = useService({ env: { BCRYPT_COST: '6' } });

  async function costsOf(email: string, password: string, of = service): Promise<number[]> {
    comparisons.hashes.length = 0;
    await new Client(of).post<Tokens>('/auth/login', { email, password });
    return comparisons.costs;
  }

  it('each login runs one bcrypt comparison at the configured cost, also for wrong passwords, unknown emails, and disabled users', async () => {
    const disabled = await aMerchant(service);
    await changeUser(service, disabled, { isDisabled: true });
    expect(service.app.get(Config).BCRYPT_COST).toBe(6);
    expect(await costsOf(merchant.email, PASSWORD)).toEqual([6]);
    expect(await costsOf(merchant.email, 'wrong')).toEqual([6]);
    expect(await costsOf('nobody@shop.example', PASSWORD)).toEqual([6]);
    expect(await costsOf(disabled.email, PASSWORD)).toEqual([6]);
    expect(await costsOf(merchant.email, 'x'.repeat(73))).toEqual([6]);
    expect(await costsOf('nobody@shop.example', 'x'.repeat(73))).toEqual([6]);
  });

  it('a new password is hashed at the configured cost', async () => {
    expect(bcrypt.getRounds(await service.app.get(Passwords).hash(PASSWORD, 'network'))).toBe(6);
  });

  describe('after a change of BCRYPT_COST', () => {
    const hashOf = async ({ email }: TestMerchant): Promise<string> =>
      String((await rowsOf(service, 'SELECT password_hash FROM api_users WHERE email = ?', [email]))[0]!.password_hash);

    it('the next login after a change of BCRYPT_COST rehashes the password at the new cost', async () => {
      const user = await aMerchant(service);
      const old = await bcrypt.hash(PASSWORD, 4);
      await rowsOf(service, 'UPDATE api_users SET password_hash = ? WHERE email = ?', [old, user.email]);
      expect(await costsOf(user.email, 'wrong')).toEqual([4]);
      expect(await hashOf(user)).toBe(old);
      expect(await costsOf(user.email, PASSWORD)).toEqual([4]);
      expect(bcrypt.getRounds(await hashOf(user))).toBe(6);
      expect(await costsOf(user.email, PASSWORD)).toEqual([6]);
      await user.orders();
    });

    it('concurrent logins of a user succeed while its password is rehashed', async () => {
      const user = await aMerchant(service);
      await rowsOf(service, 'UPDATE api_users SET password_hash = ? WHERE email = ?', [
        await bcrypt.hash(PASSWORD, 4),
        user.email,
      ]);
      const answers = await atOnce(3, () =>
        new Client(service).post<Tokens>('/auth/login', { email: user.email, password: PASSWORD }),
      );
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    });

    it('unknown emails are compared at the cost that most users have', async () => {
      const database = await createMigratedDatabase();
      const before = await startService({ databaseUrl: database.url, env: { BCRYPT_COST: '5' } });
      const changed = await startService({ databaseUrl: database.url, env: { BCRYPT_COST: '6' } });
      try {
        const known = await aMerchant(before);
        await aMerchant(before);
        await aMerchant(changed);
        expect(await costsOf(known.email, 'wrong', changed)).toEqual([5]);
        expect(await costsOf('nobody@shop.example', 'wrong', changed)).toEqual([5]);
        expect(await costsOf(known.email, 'x'.repeat(73), changed)).toEqual([5]);
        expect(await costsOf('nobody@shop.example', 'x'.repeat(73), changed)).toEqual([5]);
      } finally {
        await changed.stop();
        await before.stop();
        await database.drop();
      }
    });
  });
});
