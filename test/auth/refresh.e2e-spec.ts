import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import type { Tokens } from '../support/shop.js';
import { rowsOf } from '../support/wallets.js';
import { changeUser } from '../support/users.js';

describe('POST /auth/refresh', () => {
  let merchant: TestMerchant;

  const { service } = useService();
  const anyone = new Client(service);
  beforeEach(async () => {
    merchant = await aMerchant(service);
  });

  const refresh = (refreshToken: unknown, at = service): Promise<Answer<Tokens>> =>
    new Client(at).post<Tokens>('/auth/refresh', { refresh_token: refreshToken });
  /** Moves all refreshes of a merchant back in time. The retry window uses the database clock. */
  const moveRefreshesBack = (seconds: number, { email } = merchant): Promise<unknown> =>
    service.dataSource.query(
      `UPDATE token_sets t JOIN sessions s ON s.id = t.session_id JOIN api_users u ON u.id = s.api_user_id
          SET t.rotated_at = t.rotated_at - INTERVAL ? SECOND WHERE u.email = ?`,
      [seconds, email],
    );
  const statusWith = async (token: string): Promise<number> => (await anyone.get('/orders', { token })).status;

  it('POST /auth/refresh does not revoke the previous access token, which expires at its own time', async () => {
    await refresh(merchant.tokens.refresh_token);
    expect(await statusWith(merchant.tokens.access_token)).toBe(200);
    await service.clock.advance({ hours: 1 });
    expect(await statusWith(merchant.tokens.access_token)).toBe(401);
  });

  describe('a repeated POST /auth/refresh', () => {
    it('a repeated POST /auth/refresh returns the same token set within 30 seconds if that set has not been refreshed', async () => {
      const first = await refresh(merchant.tokens.refresh_token);
      await moveRefreshesBack(25);
      const second = await refresh(merchant.tokens.refresh_token);
      expect(second.status).toBe(201);
      expect(second.body).toEqual(first.body);
    });

    it('twenty concurrent POST /auth/refresh requests return the same token set and create one', async () => {
      const answers = await atOnce(20, () => refresh(merchant.tokens.refresh_token));
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      expect(await tokenSetsOf(merchant)).toBe(2);
    });

    it('a repeated POST /auth/refresh returns the same token set after its access token was used', async () => {
      const first = await refresh(merchant.tokens.refresh_token);
      expect(await statusWith(first.body.access_token)).toBe(200);
      expect((await refresh(merchant.tokens.refresh_token)).body).toEqual(first.body);
    });

    it('a POST /auth/refresh repeated after 30 seconds is treated as theft and revokes every token of the session', async () => {
      const { body } = await refresh(merchant.tokens.refresh_token);
      await moveRefreshesBack(31);
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
      expect(await statusWith(merchant.tokens.access_token)).toBe(401);
      expect(await statusWith(body.access_token)).toBe(401);
      expectProblem(await refresh(body.refresh_token), 401, 'invalid_refresh_token');
    });

    it('a repeated POST /auth/refresh is treated as theft when the token set that it returned was refreshed', async () => {
      const second = await refresh(merchant.tokens.refresh_token);
      const third = await refresh(second.body.refresh_token);
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
      expect(await statusWith(third.body.access_token)).toBe(401);
      expectProblem(await refresh(third.body.refresh_token), 401, 'invalid_refresh_token');
    });

    it('POST /auth/refresh treats the use of a much older refresh token as theft', async () => {
      let last = merchant.tokens;
      for (let round = 0; round < 3; round++) {
        last = (await refresh(last.refresh_token)).body;
        await service.clock.advance({ days: 20 });
      }
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
      expectProblem(await refresh(last.refresh_token), 401, 'invalid_refresh_token');
    });

    it('several reuses of a refresh token log one security event', async () => {
      const { length } = service.logged;
      await refresh(merchant.tokens.refresh_token);
      await moveRefreshesBack(31);
      await atOnce(5, () => refresh(merchant.tokens.refresh_token));
      const events = service.logged.slice(length).filter((line) => line.includes('refresh_token_reused'));
      expect(events).toHaveLength(1);
      expect(JSON.parse(events[0] ?? '')).toMatchObject({ context: 'Security', merchant_id: merchant.id });
    });

    it('reuse of a refresh token does not affect another session of the user or another merchant', async () => {
      const other = await aMerchant(service);
      const sibling = await anyone.post<Tokens>('/auth/login', { email: merchant.email, password: merchant.password });
      await refresh(merchant.tokens.refresh_token);
      await moveRefreshesBack(31);
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
      expect(await statusWith(sibling.body.access_token)).toBe(200);
      expect((await refresh(sibling.body.refresh_token)).status).toBe(201);
      expect((await refresh(other.tokens.refresh_token)).status).toBe(201);
    });
  });

  describe('POST /auth/refresh with concurrent requests', () => {
    it('no token of the session works after a concurrent POST /auth/refresh and POST /auth/logout', async () => {
      for (let round = 0; round < 5; round++) {
        const { tokens } = await aMerchant(service);
        const [refreshed, loggedOut] = await Promise.all([
          refresh(tokens.refresh_token),
          anyone.send('POST', '/auth/logout', { token: tokens.access_token }),
        ]);
        expect(loggedOut.status).toBe(204);
        expect([201, 401]).toContain(refreshed.status);
        expect(await statusWith(refreshed.body.access_token ?? tokens.access_token)).toBe(401);
        expectProblem(
          await refresh(refreshed.body.refresh_token ?? tokens.refresh_token),
          401,
          'invalid_refresh_token',
        );
      }
    });

    it('no token of the session works after a refresh that is concurrent with the reuse of an old token', async () => {
      for (let round = 0; round < 5; round++) {
        const owner = await aMerchant(service);
        const { tokens } = owner;
        const { body } = await refresh(tokens.refresh_token);
        await moveRefreshesBack(31, owner);
        const [refreshed, stolen] = await Promise.all([refresh(body.refresh_token), refresh(tokens.refresh_token)]);
        expectProblem(stolen, 401, 'invalid_refresh_token');
        expect([201, 401]).toContain(refreshed.status);
        expect(await statusWith(refreshed.body.access_token ?? body.access_token)).toBe(401);
      }
    });

    it('a concurrent refresh of a token set and its successor rotates once and creates no second branch', async () => {
      const { body } = await refresh(merchant.tokens.refresh_token);
      const answers = await atOnce(10, (index) =>
        refresh(index % 2 === 0 ? body.refresh_token : merchant.tokens.refresh_token),
      );
      expect(answers.every(({ status }) => status === 201 || status === 401)).toBe(true);
      expect(await tokenSetsOf(merchant)).toBeLessThanOrEqual(3);
      expect(answers.some(({ status }) => status === 401)).toBe(true);
    });
  });

  describe('POST /auth/refresh errors', () => {
    it.each([
      ['an unknown token', 'cbrt_00000000-0000-4000-8000-000000000000'],
      ['text that is not a token', 'x'],
      ['an SQL injection', "' OR '1'='1"],
      ['a NUL', '\0'],
      ['half a surrogate pair', 'cbrt_\ud800'],
      ['a very long text', 'x'.repeat(200_000)],
    ])('POST /auth/refresh returns 401 for %s', async (_, refreshToken) => {
      expectProblem(await refresh(refreshToken), 401, 'invalid_refresh_token');
    });

    it('POST /auth/refresh returns 401 for an access token and for a refresh token with changed case or added spaces', async () => {
      const { access_token: access, refresh_token: token } = merchant.tokens;
      for (const almost of [
        access,
        token.toUpperCase(),
        ` ${token}`,
        `${token} `,
        token.slice(5),
        token.replace('cbrt_', 'cbat_'),
      ]) {
        expectProblem(await refresh(almost), 401, 'invalid_refresh_token');
      }
      expect((await refresh(token)).status).toBe(201);
    });

    it('POST /auth/refresh returns 401 after the user is disabled, also for a retry', async () => {
      await refresh(merchant.tokens.refresh_token);
      await changeUser(service, merchant, { isDisabled: true });
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
    });

    it('POST /auth/refresh returns 401 after 30 idle days and succeeds before that', async () => {
      const other = await aMerchant(service);
      await service.clock.advance({ days: 30, seconds: -60 });
      expect((await refresh(merchant.tokens.refresh_token)).status).toBe(201);
      await service.clock.advance({ seconds: 60 });
      expectProblem(await refresh(other.tokens.refresh_token), 401, 'invalid_refresh_token');
    });

    it('a session ends after 90 days even if it was refreshed, and none of its tokens is valid longer', async () => {
      let tokens: Tokens = merchant.tokens;
      for (const step of [29, 29, 29]) {
        await service.clock.advance({ days: step });
        tokens = (await refresh(tokens.refresh_token)).body;
      }
      await service.clock.advance({ days: 3, minutes: -30 });
      const { status, body } = await refresh(tokens.refresh_token);
      expect(status).toBe(201);
      const left = Date.parse(body.access_token_expire_at) - service.clock.now().getTime();
      expect(left).toBeLessThanOrEqual(30 * 60_000);
      await service.clock.advance({ minutes: 30 });
      expect(await statusWith(body.access_token)).toBe(401);
      expectProblem(await refresh(body.refresh_token), 401, 'invalid_refresh_token');
    });
  });

  // The last test: the second instance replaces the JWT strategy of the process.
  describe('POST /auth/refresh with instances whose clocks differ by 40 seconds', () => {
    let ahead: Service;
    beforeAll(async () => {
      ahead = await startService({ databaseUrl: service.databaseUrl });
      ahead.clock.skip(service.clock.now().getTime() - Date.now() + 40_000);
    });
    afterAll(() => ahead?.stop());

    it('POST /auth/refresh returns the same token set at another instance whose clock is 40 seconds ahead', async () => {
      const first = await refresh(merchant.tokens.refresh_token);
      expect(await refresh(merchant.tokens.refresh_token, ahead)).toMatchObject({ status: 201, body: first.body });
      const second = await refresh(first.body.refresh_token, ahead);
      expect(await refresh(first.body.refresh_token)).toMatchObject({ status: 201, body: second.body });
    });

    it('POST /auth/refresh treats a repeated refresh as theft after 30 seconds of the database clock, on every instance', async () => {
      for (const at of [service, ahead]) {
        const { tokens } = await aMerchant(service);
        for (const rotatesAt of [service, ahead])
          expect((await refresh(tokens.refresh_token, rotatesAt)).status).toBe(201);
        await rowsOf(service, 'UPDATE token_sets SET rotated_at = rotated_at - INTERVAL 31 SECOND');
        expectProblem(await refresh(tokens.refresh_token, at), 401, 'invalid_refresh_token');
      }
    });
  });

  async function tokenSetsOf({ email }: TestMerchant): Promise<number> {
    const sql =
      'SELECT COUNT(*) AS n FROM token_sets t JOIN sessions s ON s.id = t.session_id JOIN api_users u ON u.id = s.api_user_id WHERE u.email = ?';
    const rows = await service.dataSource.query<{ n: string }[]>(sql, [email]);
    return Number(rows[0]!.n);
  }
});
