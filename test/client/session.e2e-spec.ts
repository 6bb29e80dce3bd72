import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TokenSet, TokenStore } from '../../clients/typescript/src/index.js';
import { atOnce } from '../support/client.js';
import { aUser, logIn, PASSWORD, type TestMerchant } from '../support/factories.js';
import { anOrderOf, clientOf, errorOf } from '../support/typescript-client.js';
import { failing, UnreliableProxy } from '../support/unreliable-proxy.js';
import { useService } from '../support/use-service.js';

/** A store that several clients share, as workers share Redis and tabs the storage of their browser. */
class SharedStore implements TokenStore {
  current: TokenSet | null = null;
  /** Makes each token set look as if it expired soon. */
  isEarly = false;
  #last: Promise<unknown> = Promise.resolve();

  get(): Promise<TokenSet | null> {
    if (this.current === null || !this.isEarly) return Promise.resolve(this.current);
    return Promise.resolve({ ...this.current, access_token_expire_at: new Date(Date.now() + 30_000).toISOString() });
  }

  set(tokens: TokenSet | null): Promise<void> {
    this.current = tokens;
    return Promise.resolve();
  }

  lock<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

describe('the session of the TypeScript client', () => {
  const { service, merchant } = useService();
  let proxy: UnreliableProxy;

  /** A client of a page: it has no password. */
  const ofPage = (tokenStore: TokenStore) => clientOf({} as TestMerchant, proxy, { tokenStore });
  const requests = (path: string): number => proxy.passed.filter((request) => request.path === path).length;

  beforeAll(async () => {
    proxy = await UnreliableProxy.start(service.url);
  });
  afterAll(() => proxy.stop());

  it('ten calls at once need one login', async () => {
    proxy.script('');
    const client = clientOf(merchant, proxy);
    await atOnce(10, () => client.policy.get());
    expect(requests('/auth/login')).toBe(1);
  });

  it('four clients that share a store need one login, and one refresh when the token expires soon', async () => {
    proxy.script('');
    const tokenStore = new SharedStore();
    const clients = [1, 2, 3, 4].map(() => clientOf(merchant, proxy, { tokenStore }));
    await atOnce(12, (at) => clients[at % 4]!.policy.get());
    const first = tokenStore.current!;
    expect({ logins: requests('/auth/login'), refreshes: requests('/auth/refresh') }).toEqual({
      logins: 1,
      refreshes: 0,
    });
    tokenStore.current = { ...first, access_token_expire_at: new Date(Date.now() + 30_000).toISOString() };
    await atOnce(12, (at) => clients[at % 4]!.policy.get());
    expect({ logins: requests('/auth/login'), refreshes: requests('/auth/refresh') }).toEqual({
      logins: 1,
      refreshes: 1,
    });
    expect(tokenStore.current.access_token).not.toBe(first.access_token);
  });

  it('a token that the service no longer accepts is refreshed once for all calls, which are sent again', async () => {
    const tokenStore = new SharedStore();
    const client = clientOf(merchant, proxy, { tokenStore });
    await client.policy.get();
    tokenStore.current = { ...tokenStore.current!, access_token: 'cbat_00000000-0000-4000-8000-000000000000' };
    proxy.script('');
    await atOnce(5, () => client.policy.get());
    expect({ logins: requests('/auth/login'), refreshes: requests('/auth/refresh') }).toEqual({
      logins: 0,
      refreshes: 1,
    });
  });

  it('a refresh whose response is lost is sent again, and the session goes on', async () => {
    const tokenStore = new SharedStore();
    const client = ofPage(tokenStore);
    await client.login({ email: merchant.email, password: PASSWORD });
    tokenStore.current = { ...tokenStore.current!, access_token_expire_at: new Date().toISOString() };
    proxy.script('/auth/refresh', 'lose', 'cut', 'shorten');
    await client.policy.get();
    expect(requests('/auth/refresh')).toBe(4);
    await client.policy.get();
  });

  it('if the session was revoked, a client with a password logs in again, and one without forgets the session', async () => {
    const user = await aUser(service, merchant.id, ['sell']);
    const [worker, page] = [new SharedStore(), new SharedStore()];
    const ofWorker = clientOf(user, proxy, { tokenStore: worker });
    await ofWorker.policy.get();
    await ofPage(page).login({ email: user.email, password: PASSWORD });
    const before = worker.current!;
    for (const disabled of [true, false])
      await clientOf(merchant, service).users.change(user.userId, { name: user.name, permissions: ['sell'], disabled });
    await ofWorker.policy.get();
    expect(worker.current!.access_token).not.toBe(before.access_token);
    expect(await errorOf(ofPage(page).policy.get())).toMatchObject({ status: 401, code: 'invalid_refresh_token' });
    expect(page.current).toBeNull();
    expect(await errorOf(ofPage(page).policy.get())).toMatchObject({ status: 401, code: 'missing_token' });
  });

  it.each([
    ['is refused because there were too many', 'busy', { status: 429 }],
    ['finds no service', 'refuse', { code: 'network_error' }],
  ] as const)('a refresh that %s keeps the session', async (_, kind, failure) => {
    const tokenStore = new SharedStore();
    const client = ofPage(tokenStore);
    await client.login({ email: merchant.email, password: PASSWORD });
    tokenStore.isEarly = true;
    const { fault } = proxy;
    proxy.fault = ({ path }) => (path === '/auth/refresh' ? kind : undefined);
    expect(await errorOf(client.policy.get())).toMatchObject(failure);
    expect(tokenStore.current).not.toBeNull();
    proxy.fault = fault;
    await client.policy.get();
  });

  it('a page logs in, changes the password, and logs out; then the token set is revoked and forgotten', async () => {
    const user = await aUser(service, merchant.id, ['sell']);
    const tokenStore = new SharedStore();
    const client = ofPage(tokenStore);
    expect(await errorOf(client.login({ email: user.email, password: 'wrong password' }))).toMatchObject({
      code: 'invalid_credentials',
    });
    await client.login({ email: user.email, password: PASSWORD });
    await client.changePassword({ current_password: PASSWORD, new_password: 'another long password' });
    await client.orders.create(anOrderOf());
    const { access_token: token } = tokenStore.current!;
    await client.logout();
    expect(tokenStore.current).toBeNull();
    await client.logout();
    const answer = await merchant.client.get('/policy', { token });
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 401, code: 'invalid_token' });
    await logIn(service, user.email, 'another long password');
  });

  it('a client that has the password uses the new one after it has changed it', async () => {
    const user = await aUser(service, merchant.id, ['sell']);
    const tokenStore = new SharedStore();
    const client = clientOf(user, service, { tokenStore });
    await client.changePassword({ current_password: PASSWORD, new_password: 'another long password' });
    tokenStore.current = null;
    await client.policy.get();
    expect(tokenStore.current).not.toBeNull();
  });

  it('a wrong clock, to which each token looks expired, does not refresh at each call', async () => {
    const early: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      if (!(request[0] as string).endsWith('/auth/login')) return response;
      const tokens = (await response.json()) as TokenSet;
      return Response.json({ ...tokens, access_token_expire_at: new Date(0) }, { status: 201 });
    };
    const client = clientOf(merchant, proxy, { fetch: early });
    proxy.script('');
    for (let at = 0; at < 3; at++) await client.policy.get();
    expect({ logins: requests('/auth/login'), refreshes: requests('/auth/refresh') }).toEqual({
      logins: 1,
      refreshes: 0,
    });
  });

  it('if 35 % of requests fail and each call refreshes, clients that share a store do 24 calls in one session', async () => {
    const tokenStore = new SharedStore();
    const clients = [1, 2, 3].map(() => ofPage(tokenStore));
    await clientOf(merchant, service, { tokenStore }).policy.get();
    tokenStore.isEarly = true;
    proxy.passed.length = 0;
    const fails = failing(0.35);
    let inARow = 0;
    proxy.fault = ({ path }) => {
      const fault = fails();
      if (path !== '/auth/refresh') return fault;
      // The fourth try of a refresh reaches the service, or the session would be over.
      inARow = fault === undefined || inARow === 3 ? 0 : inARow + 1;
      return inARow === 0 ? undefined : fault;
    };
    let calls = 0;
    await atOnce(6, async (at) => {
      while (calls < 24) {
        calls++;
        await clients[at % 3]!.policy.get().catch((error: unknown) => {
          // All tries of the call failed, not those of the session.
          if (tokenStore.current === null) throw error;
        });
      }
    });
    expect(tokenStore.current).not.toBeNull();
    expect(requests('/auth/login')).toBe(0);
    expect(requests('/auth/refresh')).toBeGreaterThan(4);
  });
});
