import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PERMISSIONS, type Permission } from '../../src/platform/values/caller.js';
import { Passwords } from '../../src/auth/passwords.js';
import { atOnce, Client } from '../support/client.js';
import { Comparisons } from '../support/comparisons.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, aUser, logIn, PASSWORD, type TestMerchant } from '../support/factories.js';
import { type Page, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';
import { changeUser } from '../support/users.js';

const LOGIN_LIMIT = 5;
const { service } = useService({ env: { LOGIN_RATE_LIMIT: String(LOGIN_LIMIT) } });
let merchant: TestMerchant;
beforeEach(async () => {
  merchant = await aMerchant(service);
});

interface User {
  id: string;
  name: string;
  email: string;
  permissions: Permission[];
  disabled: boolean;
  last_login_at: string | null;
  locked_out_until: string | null;
  sessions: number;
  password: string;
}

const aNewUser = (members: Record<string, unknown> = {}): Record<string, unknown> & { email: string } => {
  return { name: 'Caixa 3', email: `caixa-${unique()}@shop.example`, permissions: ['sell', 'refund'], ...members };
};
const create = (members: Record<string, unknown> = {}, shop = merchant) =>
  shop.send<User>('POST', '/users', { body: aNewUser(members) }, 201);
const read = ({ id }: { id: string }, shop = merchant) => shop.send<User>('GET', `/users/${id}`, {}, 200);
const change = ({ id }: { id: string }, members: Record<string, unknown> = {}, shop = merchant) => {
  const body = { name: 'Caixa 3', permissions: ['sell'], disabled: false, ...members };
  return shop.send<User>('PUT', `/users/${id}`, { body }, 200);
};
const renewPassword = ({ id }: { id: string }, shop = merchant) =>
  shop.send<User>('POST', `/users/${id}/password`, {}, 200);
const changePassword = (current: unknown, next: unknown, client = merchant.client) =>
  client.post('/auth/password', { current_password: current, new_password: next });

describe('POST /users', () => {
  it('POST /users creates an API user with a generated password, with which it can log in', async () => {
    const { status, headers, body } = await merchant.client.post<User>('/users', aNewUser());
    expect({ status, location: headers.get('location') }).toEqual({ status: 201, location: `/users/${body.id}` });
    const { password, ...user } = body;
    expect(password).toMatch(/^[\w-]{32}$/);
    expect(user).toEqual({
      id: expect.any(String),
      name: 'Caixa 3',
      email: user.email,
      permissions: ['sell', 'refund'],
      disabled: false,
      created_at: expect.any(String),
      last_login_at: null,
      locked_out_until: null,
      sessions: 0,
    });
    expect(await read(user)).toEqual(user);
    await logIn(service, user.email.toUpperCase(), password);
    expect(await read(user)).toMatchObject({ sessions: 1, last_login_at: expect.any(String) });
  });

  it('the log says who created, changed or gave a password to which user, with the permissions and no secret', async () => {
    const { length } = service.logged;
    const user = await merchant.post<User>('/users', aNewUser());
    await merchant.put(`/users/${user.id}`, { name: 'ERP', permissions: ['grants'], disabled: true });
    const renewed = await merchant.post<User>(`/users/${user.id}/password`, undefined);
    await merchant
      .put(`/users/${merchant.userId}`, { name: 'x', permissions: ['sell'], disabled: false })
      .refused(409, 'own_user');
    const lines = service.logged.slice(length);
    const events = lines.filter((line) => line.includes('"Security"')).map((line) => JSON.parse(line) as object);
    const who = { merchant_id: merchant.id, api_user_id: merchant.userId, changed_user_id: user.id };
    expect(events).toMatchObject([
      { event: 'user_created', ...who, name: 'Caixa 3', permissions: ['sell', 'refund'] },
      { event: 'user_changed', ...who, name_before: 'Caixa 3', name: 'ERP', permissions: ['grants'], disabled: true },
      { event: 'user_password_renewed', ...who },
    ]);
    for (const password of [user.password, renewed.password]) expect(lines.join('')).not.toContain(password);
  });

  it('POST /users again returns 409 with the existing ID, for which another password can be made', async () => {
    const body = aNewUser();
    const lost = await create(body);
    const again = create({ ...body, email: body.email.toUpperCase() });
    await again.refused(409, 'email_taken', { existing_id: lost.id, next_action: 'read_existing' });
    const { password } = await renewPassword(lost);
    await logIn(service, lost.email, password);
    expectProblem(await new Client(service).post('/auth/login', lost), 400, 'validation_failed');
    await expect(logIn(service, lost.email, lost.password)).rejects.toThrow('invalid_credentials');
  });

  it('POST /users returns 409 without an ID when the email belongs to another merchant', async () => {
    const other = await aMerchant(service);
    const { email } = await create({}, other);
    await create({ email }).refused(409, 'email_taken', { existing_id: null });
  });

  it('concurrent POST /users requests with one email create one user', async () => {
    const body = aNewUser();
    const answers = await atOnce(10, () => merchant.client.post<User>('/users', body));
    const created = answers.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    for (const answer of answers) if (answer !== created[0]) expectProblem(answer, 409, 'email_taken');
  });

  it('POST /users returns 400 for members that are not valid', async () => {
    await create({ name: '', email: 'caixa', permissions: ['money'] }).refused(400, 'validation_failed', [
      '/email',
      '/name',
      '/permissions',
    ]);
    for (const name of [
      'Caixa 3 ',
      '\u00a0Caixa',
      'Caixa\u200b',
      'Caixa\n3',
      'Caixa\u20283',
      'Caixa\u0007',
      ' ',
      '\u3164',
      '\u2800',
      'operator\u3164',
    ])
      await create({ name }).refused(400, 'validation_failed', ['/name']);
    expect(await create({ name: 'Caixa 👩\u200d💻 da noite' })).toMatchObject({ name: 'Caixa 👩\u200d💻 da noite' });
    for (const permissions of [[], 'sell', null, undefined])
      await create({ permissions }).refused(400, 'validation_failed', ['/permissions']);
  });
});

describe('the name of the operator', () => {
  it.each(['operator', 'Operator', 'OPERATOR', 'ｏperator', 'oper\u200bator', 'oper\u2800ator'])(
    'no API user is created as, or renamed to, %j',
    async (name) => {
      await create({ name }).refused(400, 'validation_failed', ['/name']);
      const till = { id: (await aUser(service, merchant.id, ['sell'])).userId };
      await change(till, { name }).refused(400, 'validation_failed', ['/name']);
      expect(await change(till, { name: `${name} 2` })).toMatchObject({ name: `${name} 2` });
    },
  );
});

describe('the hashing of passwords', () => {
  let comparisons: Comparisons;
  beforeAll(() => {
    comparisons = new Comparisons();
  });
  afterAll(() => comparisons.stop());

  it('no password is hashed for a request that is refused', async () => {
    const till = await create({ permissions: ['sell'] });
    const manager = await aUser(service, merchant.id, ['users', 'sell']);
    const other = await create({}, await aMerchant(service));
    const { hashed } = comparisons;
    await create({ email: till.email }).refused(409, 'email_taken');
    await create({ email: other.email }).refused(409, 'email_taken');
    await create({ permissions: ['grants'] }, manager).refused(403, 'forbidden');
    for (const id of ['00000000-0000-4000-8000-000000000000', other.id])
      await renewPassword({ id }).refused(404, 'not_found');
    await renewPassword({ id: merchant.userId }).refused(409, 'own_user');
    await renewPassword({ id: merchant.userId }, manager).refused(403, 'forbidden');
    expectProblem(await changePassword('wrong', 'another password'), 422, 'wrong_password');
    expect(comparisons.hashed).toBe(hashed);
    await renewPassword(till);
    expect(comparisons.hashed).toBe(hashed + 1);
  });

  it('new passwords wait for their turn behind the comparisons of logins, and take turns with them', async () => {
    // A password that changes refuses a login that has not ended, so it is that of another user.
    const [till, other] = [await create(), await create()];
    const { hashed } = comparisons;
    comparisons.hold();
    const login = logIn(service, till.email, till.password);
    const passwords = service.app.get(Passwords);
    const waiting = async (count: number): Promise<void> => {
      const all = ({ running, waiting }: Passwords['load']): number => running + waiting;
      for (let tries = 0; tries < 100 && all(passwords.load) <= count; tries++) await sleep(10);
      expect(passwords.load).toEqual({ running: 1, waiting: count });
    };
    await waiting(0);
    const sent = [create(), renewPassword(other)].map((call) => call.answer);
    await waiting(2);
    expect(comparisons.hashed).toBe(hashed);
    comparisons.release();
    await login;
    for (const { status } of await Promise.all(sent)) expect([200, 201]).toContain(status);
    expect(comparisons.hashed).toBe(hashed + 2);
  });
});

describe('GET /users', () => {
  it('GET /users lists the API users of the merchant only, oldest first, in pages', async () => {
    await create({}, await aMerchant(service));
    const users = [];
    for (const name of ['Caixa 1', 'Caixa 2', 'Caixa 3']) users.push(await create({ name }));
    const listed = await merchant.all<User>('/users?limit=2');
    expect(listed.map(({ id }) => id)).toEqual([merchant.userId, ...users.map(({ id }) => id)]);
    expect(listed[0]).toMatchObject({ permissions: PERMISSIONS, sessions: 1 });
    const page: Page<User> = await merchant.get<Page<User>>('/users?limit=4');
    expect(page.next_cursor).toBeNull();
    await merchant.get('/users?cursor=x').refused(400, 'validation_failed');
  });

  it('GET, PUT and POST /users/{id} return 404 for a user of another merchant', async () => {
    const user = await create({}, await aMerchant(service));
    for (const call of [read(user), change(user), renewPassword(user)]) await call.refused(404, 'not_found');
  });

  it('a user shows until when it is locked out, after too many failed logins', async () => {
    const user = await create();
    const wrong = () => new Client(service).post('/auth/login', { email: user.email, password: 'wrong' });
    for (let failures = 1; failures < LOGIN_LIMIT; failures++) await wrong();
    expect((await read(user)).locked_out_until).toBeNull();
    await wrong();
    expectProblem(await wrong(), 429, 'too_many_requests');
    expect((await read(user)).locked_out_until).toEqual(expect.any(String));
  });
});

describe('PUT /users/{id}', () => {
  it('PUT /users/{id} replaces name and permissions, from the next request of the user on, also when repeated', async () => {
    const till = await aUser(service, merchant.id, ['sell']);
    for (const _attempt of ['first', 'second'])
      expect(await change({ id: till.userId }, { name: 'ERP', permissions: ['reports', 'events'] })).toMatchObject({
        id: till.userId,
        name: 'ERP',
        permissions: ['events', 'reports'],
        sessions: 1,
      });
    await till.create().refused(403, 'forbidden', { permission: 'sell' });
    expect((await till.client.get('/events')).status).toBe(200);
  });

  it('a user that is disabled loses its sessions at once, and keeps them lost when it is enabled again', async () => {
    const till = await aUser(service, merchant.id, ['sell']);
    const user = { id: till.userId };
    for (const _attempt of ['first', 'second'])
      expect(await change(user, { disabled: true })).toMatchObject({ disabled: true, sessions: 0 });
    await till.policy().refused(401, 'invalid_token');
    await expect(logIn(service, till.email)).rejects.toThrow('invalid_credentials');
    expect(await change(user)).toMatchObject({ disabled: false, sessions: 0 });
    await till.policy().refused(401, 'invalid_token');
    await logIn(service, till.email);
  });

  it('a user cannot change itself, or make itself a new password', async () => {
    const self = { id: merchant.userId };
    await change(self, { permissions: PERMISSIONS }).refused(409, 'own_user');
    await change(self, { disabled: true }).refused(409, 'own_user');
    await renewPassword(self).refused(409, 'own_user');
    expect(await read(self)).toMatchObject({ disabled: false, sessions: 1 });
  });

  it('no user gives what it does not have, by any path', async () => {
    const manager = await aUser(service, merchant.id, ['users', 'sell', 'refund']);
    const till = { id: (await aUser(service, merchant.id, ['sell'])).userId };
    const owner = { id: merchant.userId };
    const lacks = (permission: Permission) => [403, 'forbidden', { permission }] as const;
    await create({ permissions: ['sell', 'grants'] }, manager).refused(...lacks('grants'));
    await change(till, { permissions: ['sell', 'privacy'] }, manager).refused(...lacks('privacy'));
    // A user that has more could be used with its new password, or would lose what the manager cannot return.
    await renewPassword(owner, manager).refused(...lacks('customers'));
    await change(owner, { permissions: ['sell'] }, manager).refused(...lacks('customers'));
    await change(owner, { disabled: true, permissions: PERMISSIONS }, manager).refused(...lacks('customers'));
    expect(await change(till, { permissions: ['sell', 'refund'] }, manager)).toMatchObject({ disabled: false });
    await create({ permissions: ['users', 'refund'] }, manager);
    const [first] = (await manager.all<User>('/users')).filter(({ id }) => id === owner.id);
    expect(first).toMatchObject({ permissions: PERMISSIONS, sessions: 1 });
  });

  it('a permission that is withdrawn meanwhile is given by no concurrent request', async () => {
    for (let round = 0; round < 5; round++) {
      const manager = await aUser(service, merchant.id, ['users', 'grants']);
      const tills: TestMerchant[] = [];
      for (let index = 0; index < 4; index++) tills.push(await aUser(service, merchant.id, ['grants']));
      const changes = atOnce(4, (index) => {
        const id = tills[index]!.userId;
        return manager.client.put(`/users/${id}`, { name: `Given ${round}`, permissions: ['grants'], disabled: false });
      });
      await changeUser(service, manager, { permissions: ['users'] });
      const names = () => rowsOf<{ name: string }>(service, 'SELECT name FROM api_users');
      const before = await names();
      const given = ({ name }: { name: string }): boolean => name === `Given ${round}`;
      const count = before.filter(given).length;
      for (const { status } of await changes) expect([200, 403]).toContain(status);
      expect((await names()).filter(given)).toHaveLength(count);
    }
  });
});

describe('POST /auth/password', () => {
  const NEXT = 'another password';

  it('POST /auth/password changes the own password and ends the other sessions, also when repeated', async () => {
    const other = await logIn(service, merchant.email);
    for (const _attempt of ['first', 'second']) expect((await changePassword(PASSWORD, NEXT)).status).toBe(204);
    expect((await merchant.client.get('/policy')).status).toBe(200);
    expectProblem(await new Client(service, other.access_token).get('/policy'), 401, 'invalid_token');
    await expect(logIn(service, merchant.email)).rejects.toThrow('invalid_credentials');
    await logIn(service, merchant.email, NEXT);
  });

  it('POST /auth/password returns 422 for a wrong password, which counts as a failed login', async () => {
    for (let failures = 1; failures <= LOGIN_LIMIT; failures++)
      expectProblem(await changePassword('wrong', NEXT), 422, 'wrong_password');
    for (const password of ['wrong', PASSWORD])
      expectProblem(await changePassword(password, NEXT), 429, 'too_many_requests');
    const login = await new Client(service).post('/auth/login', { email: merchant.email, password: PASSWORD });
    expectProblem(login, 429, 'too_many_requests');
    await changeUser(service, merchant, { password: PASSWORD });
  });

  it('POST /auth/password returns 400 for a new password that is too short or too long', async () => {
    for (const next of ['eleven byte', 'x'.repeat(73), 'é'.repeat(37), 5, '']) {
      const refused = await changePassword(PASSWORD, next);
      expectProblem(refused, 400, 'validation_failed');
      expect(refused.body).toMatchObject({ errors: [{ pointer: '/new_password' }] });
    }
  });

  it.each([
    ['12 blanks', ' '.repeat(12)],
    ['12 characters that nobody sees', '\u200b\u00a0'.repeat(6)],
    ['a lone surrogate', `${NEXT}\ud800`],
    ['three emoji', '😀😀😀'],
    ['seven characters of two bytes', 'éãõçíúâ'],
    ['fillers', '\u3164'.repeat(6)],
    ['blanks of braille', '\u2800'.repeat(12)],
    ['marks on nothing', '\u0301'.repeat(12)],
    ['a common password', 'qwerty123456'],
    ['a common password with a blank', 'qwerty123456 '],
    ['a common password in capitals', 'QWERTY123456'],
    ['the 3,000th of the most common ones', 'eveningcucumber'],
  ])('POST /auth/password returns 400 for a new password of %s', async (_, next) => {
    const refused = await changePassword(PASSWORD, next);
    expectProblem(refused, 400, 'validation_failed');
    expect(refused.body).toMatchObject({ errors: [{ pointer: '/new_password' }] });
    await logIn(service, merchant.email);
  });

  it('POST /auth/password returns 204 to fifty concurrent repeats, and none counts as a failed login', async () => {
    const answers = await atOnce(50, () => changePassword(PASSWORD, NEXT));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
    expect(await read({ id: merchant.userId })).toMatchObject({ locked_out_until: null, sessions: 1 });
    await logIn(service, merchant.email, NEXT);
    const failures = 'SELECT SUM(points) AS failures FROM rate_limits WHERE api_user_id = ? AND kind <> ?';
    expect(await rowsOf(service, failures, [merchant.userId, 'known-network'])).toEqual([{ failures: null }]);
  });

  it('of concurrent POST /auth/password requests with different passwords, one succeeds', async () => {
    const answers = await atOnce(4, (index) => changePassword(PASSWORD, `${NEXT} ${index}`));
    const won = answers.flatMap(({ status }, index) => (status === 204 ? [index] : []));
    expect(won).toHaveLength(1);
    await logIn(service, merchant.email, `${NEXT} ${won[0]}`);
  });
});
