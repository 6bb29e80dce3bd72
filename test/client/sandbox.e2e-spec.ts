import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cashback, createSandboxMerchant } from '../../clients/typescript/src/index.js';
import { SANDBOX, NEXT_YEAR } from '../support/sandbox.js';
import { all, anOrderOf, clientOf, errorOf } from '../support/typescript-client.js';
import { UnreliableProxy } from '../support/unreliable-proxy.js';
import { useService } from '../support/use-service.js';

const POLICY = { earn_rate: '0.10', release_days: 3, validity_days: 30 };

describe('the TypeScript client of a sandbox', () => {
  const { service } = useService({ env: SANDBOX });
  let proxy: UnreliableProxy;

  const aMerchant = async (options: { policy?: object; baseUrl?: string } = {}): Promise<Cashback> => {
    const { user } = await createSandboxMerchant({ baseUrl: service.url, name: 'Loja da Ana', ...options });
    return clientOf(user, service);
  };

  beforeAll(async () => {
    proxy = await UnreliableProxy.start(service.url);
  });
  afterAll(() => proxy.stop());

  it('a merchant is created without a login, with rules of its own, and its user has all permissions', async () => {
    const { id, name, policy, user } = await createSandboxMerchant({
      baseUrl: service.url,
      name: 'Loja',
      policy: POLICY,
    });
    expect({ name, policy }).toMatchObject({ name: 'Loja', policy: POLICY });
    const cashback = clientOf(user, service);
    expect(await cashback.me()).toMatchObject({ email: user.email, merchant: { id } });
    expect(await cashback.policy.get()).toMatchObject(policy);
    expect((await all(cashback.users.list())).map(({ email }) => email)).toEqual([user.email]);
    expect(await errorOf(createSandboxMerchant({ baseUrl: service.url, name: '' }))).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/name' }],
    });
  });

  it('a merchant whose first creation was lost is created again', async () => {
    proxy.script('/sandbox/merchants', 'lose', 'page');
    const cashback = await aMerchant({ baseUrl: proxy.url });
    expect(proxy.passed.map(({ path }) => path)).toEqual(Array(3).fill('/sandbox/merchants'));
    expect(await cashback.sandbox.getClock()).toMatchObject({ frozen: false, moving: false });
  });

  it('a move returns the first and the last event of what was due, and the same move again the same', async () => {
    const cashback = await aMerchant({ policy: POLICY });
    await cashback.sandbox.move({ on: `${NEXT_YEAR}-03-01` });
    const { id } = await cashback.orders.create(anOrderOf({ total: '80.00' }));
    await cashback.orders.complete(id);
    const move = await cashback.sandbox.move({ on: `${NEXT_YEAR}-05-01` });
    expect(move).toEqual({ now: `${NEXT_YEAR}-05-01T03:00:00.000Z`, done: true, first_sequence: 3, last_sequence: 5 });
    expect(await cashback.sandbox.move({ now: move.now })).toEqual(move);
    const events = await all(cashback.events.list({ after: move.first_sequence! - 1 }));
    expect(events.map(({ type, timestamp }) => [type, timestamp.slice(0, 10)])).toEqual([
      ['cashback.available', `${NEXT_YEAR}-03-04`],
      ['cashback.expiring', `${NEXT_YEAR}-03-27`],
      ['cashback.expired', `${NEXT_YEAR}-04-03`],
    ]);
    expect(await cashback.sandbox.getClock()).toEqual({ now: move.now, frozen: true, moving: false });
    const other = await aMerchant();
    expect(await other.sandbox.getClock()).toMatchObject({ frozen: false });
  });

  it('a move whose response was lost is made once', async () => {
    const { user } = await createSandboxMerchant({ baseUrl: service.url, name: 'Loja' });
    const cashback = clientOf(user, proxy);
    await cashback.me();
    proxy.script('/sandbox/clock', 'lose', 'cut');
    const now = `${NEXT_YEAR}-06-01T12:00:00.000Z`;
    expect(await cashback.sandbox.move({ now })).toMatchObject({ now, done: true });
    expect(proxy.passed).toHaveLength(3);
  });

  it('a move that is not done is sent again until it is', async () => {
    const bodies: unknown[] = [];
    const answers = [
      { now: `${NEXT_YEAR}-01-01T03:00:00.000Z`, done: false, first_sequence: null, last_sequence: null },
      { now: `${NEXT_YEAR + 1}-01-01T03:00:00.000Z`, done: false, first_sequence: 1, last_sequence: null },
      { now: `${NEXT_YEAR + 2}-01-01T03:00:00.000Z`, done: true, first_sequence: 1, last_sequence: 9 },
    ];
    const cashback = new Cashback({
      baseUrl: service.url,
      tokenStore: {
        get: () => Promise.resolve({ access_token: 'a', access_token_expire_at: '2999-01-01T00:00:00.000Z' } as never),
        set: () => Promise.resolve(),
      },
      fetch: (_, options) => {
        bodies.push(options?.body);
        return Promise.resolve(Response.json(answers[bodies.length - 1]));
      },
    });
    expect(await cashback.sandbox.move({ on: `${NEXT_YEAR + 2}-01-01` })).toEqual(answers[2]);
    expect(bodies).toEqual(Array(3).fill(`{"on":"${NEXT_YEAR + 2}-01-01"}`));
  });

  it('a move backwards is an error whose code selects where the clock is', async () => {
    const cashback = await aMerchant();
    const now = `${NEXT_YEAR}-06-01T12:00:00.000Z`;
    await cashback.sandbox.move({ now });
    const error = await errorOf(cashback.sandbox.move({ on: `${NEXT_YEAR}-06-01` }));
    expect(error).toMatchObject({ status: 409, retryable: false });
    expect(error.code === 'clock_backwards' && error.now).toBe(now);
    expect(await errorOf(cashback.sandbox.move({}))).toMatchObject({ code: 'validation_failed' });
    expect(await cashback.sandbox.getClock()).toMatchObject({ now });
  });
});

describe('the TypeScript client of a live service', () => {
  const { service, merchant } = useService();

  it('has no clock and creates no merchant: each is route_not_found', async () => {
    const { sandbox } = clientOf(merchant, service);
    const calls = [
      createSandboxMerchant({ baseUrl: service.url, name: 'Loja' }),
      sandbox.getClock(),
      sandbox.move({ on: `${NEXT_YEAR}-01-01` }),
    ];
    for (const call of calls) expect(await errorOf(call)).toMatchObject({ status: 404, code: 'route_not_found' });
  });
});
