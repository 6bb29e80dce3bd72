import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, aUser, anOrder, PASSWORD, type TestMerchant } from '../support/factories.js';
import { expectLimited, statusesOf } from '../support/rate-limits.js';
import { useService } from '../support/use-service.js';
import type { Tokens } from '../support/shop.js';

const RATE_LIMIT = 2;
const POLICIES = `"requests";q=${RATE_LIMIT};w=1, "requests-burst";q=${10 * RATE_LIMIT};w=60`;
const MINUTE_MS = 60_000;

/**
 * Sends requests at once. @returns the answers and the maximum that can pass: the burst plus the quota of each second.
 */
async function sendMany(
  times: number,
  send: (index: number) => Promise<Answer<unknown>>,
): Promise<{ answers: Answer<unknown>[]; most: number }> {
  const startedAt = performance.now();
  const answers = await atOnce(times, send);
  const seconds = Math.ceil((performance.now() - startedAt) / 1000) + 1;
  return { answers, most: (10 + seconds) * RATE_LIMIT };
}

/** Moves the system clock. Timers are not affected, like in a real process. */
function stepClock(milliseconds: number): void {
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + milliseconds);
}

describe('rate limits of API users', () => {
  const { service } = useService({ env: { RATE_LIMIT: String(RATE_LIMIT) } });
  afterEach(() => void jest.restoreAllMocks());

  const readPolicy = ({ tokens }: TestMerchant): Promise<Answer<Tokens>> =>
    new Client(service, tokens.access_token).get('/policy');
  const search = ({ client }: TestMerchant): Promise<Answer<Tokens>> =>
    client.post('/wallets/search', { document: aDocument() });

  it('requests of an API user pass up to the quota and the burst, and the rest return 429', async () => {
    const merchant = await aMerchant(service);
    const { answers, most } = await sendMany(60, () => readPolicy(merchant));
    const { 200: passed = 0, 429: refused = 0 } = statusesOf(answers);
    expect(passed + refused).toBe(60);
    expect(passed).toBeGreaterThanOrEqual(11 * RATE_LIMIT);
    expect(passed).toBeLessThanOrEqual(most);
    for (const answer of answers) if (answer.status === 429) expectLimited(answer, POLICIES, 1);
  });

  it('requests pass again after Retry-After', async () => {
    const merchant = await aMerchant(service);
    const answers = await atOnce(60, () => readPolicy(merchant));
    const refused = answers.find(({ status }) => status === 429);
    expectLimited(refused, POLICIES, 1);
    await sleep(Number(refused?.headers.get('retry-after')) * 1000 + 50);
    expect((await readPolicy(merchant)).status).toBe(200);
  });

  it.each([-50, 50])(
    'requests pass again after the window when the system clock is moved by %i minutes',
    async (minutes) => {
      const merchant = await aMerchant(service);
      const answers = await atOnce(60, () => readPolicy(merchant));
      expect(statusesOf(answers)[429]).toBeGreaterThan(0);
      stepClock(minutes * MINUTE_MS);
      await sleep(1100);
      expect((await readPolicy(merchant)).status).toBe(200);
    },
  );

  it('Retry-After is never longer than the window when the system clock is set back', async () => {
    const merchant = await aMerchant(service);
    await atOnce(60, () => readPolicy(merchant));
    stepClock(-50 * MINUTE_MS);
    const answers = await atOnce(20, () => readPolicy(merchant));
    expectLimited(
      answers.find(({ status }) => status === 429),
      POLICIES,
      1,
    );
  });

  it('an API user makes and changes at most 60 passwords per minute, by any route', async () => {
    const merchant = await aMerchant(service);
    const policy = '"passwords";q=60;w=60';
    const unknown = '/users/00000000-0000-4000-8000-000000000000/password';
    const answers = await atOnce(70, () => merchant.client.post(unknown));
    expect(statusesOf(answers)).toEqual({ 404: 60, 429: 10 });
    const others = ['/users', '/auth/password', unknown].map((path) => merchant.client.post(path, {}));
    for (const answer of await Promise.all(others)) expectLimited(answer, policy, 60);
    expect((await readPolicy(merchant)).status).toBe(200);
    const second = await aUser(service, merchant.id, PERMISSIONS);
    expectProblem(await second.client.post(unknown), 404, 'not_found');
  });

  it('requests are counted separately per merchant and per user of a merchant', async () => {
    const [busy, quiet] = [await aMerchant(service), await aMerchant(service)];
    const second = await aUser(service, busy.id);
    expect(statusesOf(await atOnce(60, () => readPolicy(busy)))[429]).toBeGreaterThan(0);
    expect((await readPolicy(quiet)).status).toBe(200);
    expect((await second.client.get('/orders')).status).toBe(200);
  });

  it('requests with different tokens of a user are counted together, and refused requests create nothing', async () => {
    const merchant = await aMerchant(service);
    const { body: again } = await new Client(service).post<Tokens>('/auth/login', {
      email: merchant.email,
      password: PASSWORD,
    });
    const tokens = [merchant.tokens.access_token, again.access_token];
    const answers = await atOnce(60, (index) => new Client(service, tokens[index % 2]).post('/orders', anOrder()));
    const { 201: created = 0, 429: refused = 0 } = statusesOf(answers);
    expect(created + refused).toBe(60);
    expect(refused).toBeGreaterThan(0);
    const [{ found }] = await service.dataSource.query<[{ found: string }]>(
      'SELECT COUNT(*) AS found FROM orders WHERE merchant_id = ?',
      [merchant.id],
    );
    expect(Number(found)).toBe(created);
  });

  it('requests to /orders and /wallets are counted together, so that documents cannot be enumerated', async () => {
    const merchant = await aMerchant(service);
    const { answers, most } = await sendMany(60, () => search(merchant));
    expect(statusesOf(answers)[200]).toBeLessThanOrEqual(most);
    expectLimited(
      answers.find(({ status }) => status === 429),
      POLICIES,
      1,
    );
    const others = await atOnce(40, () => readPolicy(merchant));
    expect(statusesOf(others)[429]).toBeGreaterThan(0);
  });

  it('requests without an access token return 401, not 429', async () => {
    const answers = await atOnce(60, () => new Client(service).get('/orders'));
    expect(statusesOf(answers)).toEqual({ 401: 60 });
  });

  it('POST /auth/refresh with unknown tokens is limited per network', async () => {
    const { answers, most } = await sendMany(60, () =>
      new Client(service).post('/auth/refresh', { refresh_token: 'cbrt_00000000-0000-4000-8000-000000000000' }),
    );
    expect(statusesOf(answers)[401]).toBeLessThanOrEqual(most);
    expectLimited(
      answers.find(({ status }) => status === 429),
      POLICIES,
      1,
    );
  });

  it('counting requests needs no row in the table of failed logins', async () => {
    const merchant = await aMerchant(service);
    await service.dataSource.query('RENAME TABLE rate_limits TO rate_limits_away');
    try {
      expect(await merchant.create()).toMatchObject({ status: 'pending' });
    } finally {
      await service.dataSource.query('RENAME TABLE rate_limits_away TO rate_limits');
    }
  });
});

describe('rate limits of POST /auth/refresh', () => {
  const { service } = useService();
  afterEach(() => void jest.restoreAllMocks());

  const refresh = (token: string): Promise<Answer<Tokens>> =>
    new Client(service).post<Tokens>('/auth/refresh', { refresh_token: token });

  it('a session can be refreshed 60 times per minute, and another session of the user is not affected', async () => {
    const merchant = await aMerchant(service);
    const first = await atOnce(20, () => refresh(merchant.tokens.refresh_token));
    expect(statusesOf(first)).toEqual({ 201: 20 });
    const answers: Answer<Tokens>[] = [];
    for (let sent = 0; sent < 50; sent += 10)
      answers.push(...(await atOnce(10, () => refresh(merchant.tokens.refresh_token))));
    expect(statusesOf(answers)).toEqual({ 201: 40, 429: 10 });
    const refused = answers.find(({ status }) => status === 429);
    expectLimited(refused, '"refresh";q=60;w=60', 60);

    const { body: session } = await new Client(service).post<Tokens>('/auth/login', {
      email: merchant.email,
      password: PASSWORD,
    });
    expect((await refresh(session.refresh_token)).status).toBe(201);
    expectLimited(await refresh(first[0]!.body.refresh_token), '"refresh";q=60;w=60', 60);

    stepClock(MINUTE_MS);
    expect((await refresh(first[0]!.body.refresh_token)).status).toBe(201);
  });

  it('refreshes above the limit do not revoke the session', async () => {
    const merchant = await aMerchant(service);
    await atOnce(70, () => refresh(merchant.tokens.refresh_token));
    await merchant.orders();
  });

  it('refreshes with an unknown token return 401', async () => {
    const answers = await atOnce(20, () => refresh('cbrt_00000000-0000-4000-8000-000000000000'));
    answers.forEach((answer) => expectProblem(answer, 401, 'invalid_refresh_token'));
  });
});
