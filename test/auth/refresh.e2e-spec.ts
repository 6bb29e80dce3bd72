import { beforeEach, describe, expect, it } from '@jest/globals';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';

describe('refreshing', () => {
  let merchant: TestMerchant;

  const { service } = useService();
  const anyone = new Client(service);
  beforeEach(async () => {
    merchant = await aMerchant(service);
  });

  const refresh = (refreshToken: unknown): Promise<Answer> =>
    anyone.post('/auth/refresh', { refresh_token: refreshToken });
  /** Makes all refreshes of a merchant happen that long ago, by the clock of the database, which measures the retry window. */
  const refreshedAgo = (seconds: number, { email } = merchant): Promise<unknown> =>
    service.dataSource.query(
      `UPDATE token_sets t JOIN sessions s ON s.id = t.session_id JOIN api_users u ON u.id = s.api_user_id
          SET t.rotated_at = t.rotated_at - INTERVAL ? SECOND WHERE u.email = ?`,
      [seconds, email],
    );
  const statusWith = async (token: string): Promise<number> => (await anyone.get('/orders', { token })).status;

  it('answers 201 with a new token set, not to be cached', async () => {
    const { status, headers, body } = await refresh(merchant.tokens.refresh_token);
    expect(status).toBe(201);
    expect(Object.keys(body).sort()).toEqual(['access_token', 'access_token_expire_at', 'refresh_token']);
    expect(body.access_token).not.toBe(merchant.tokens.access_token);
    expect(body.refresh_token).not.toBe(merchant.tokens.refresh_token);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(await statusWith(body.access_token)).toBe(200);
  });

  it('leaves the access token before it alone until its own expiry', async () => {
    await refresh(merchant.tokens.refresh_token);
    expect(await statusWith(merchant.tokens.access_token)).toBe(200);
    service.clock.advance({ hours: 1 });
    expect(await statusWith(merchant.tokens.access_token)).toBe(401);
  });

  it('goes on from set to set', async () => {
    let tokens: any = merchant.tokens;
    for (let round = 0; round < 5; round++) {
      const { status, body } = await refresh(tokens.refresh_token);
      expect(status).toBe(201);
      tokens = body;
    }
    expect(await statusWith(tokens.access_token)).toBe(200);
  });

  it('needs no access token, and takes no notice of a bad one', async () => {
    expect(
      (await anyone.post('/auth/refresh', { refresh_token: merchant.tokens.refresh_token }, { token: 'expired' }))
        .status,
    ).toBe(201);
  });

  describe('a second time', () => {
    it('brings the very same set, as long as that has not been refreshed and 30 seconds are not over', async () => {
      const first = await refresh(merchant.tokens.refresh_token);
      await refreshedAgo(25);
      const second = await refresh(merchant.tokens.refresh_token);
      expect(second.status).toBe(201);
      expect(second.body).toEqual(first.body);
    });

    it('brings the same set to twenty at once, and there is one', async () => {
      const answers = await atOnce(20, () => refresh(merchant.tokens.refresh_token));
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      expect(await tokenSetsOf(merchant)).toBe(2);
    });

    it('is not theft when the access token that came with it has been used meanwhile', async () => {
      const first = await refresh(merchant.tokens.refresh_token);
      expect(await statusWith(first.body.access_token)).toBe(200);
      expect((await refresh(merchant.tokens.refresh_token)).body).toEqual(first.body);
    });

    it('is theft once 30 seconds are over: the whole family ends, its access tokens included', async () => {
      const { body } = await refresh(merchant.tokens.refresh_token);
      await refreshedAgo(31);
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
      expect(await statusWith(merchant.tokens.access_token)).toBe(401);
      expect(await statusWith(body.access_token)).toBe(401);
      expectProblem(await refresh(body.refresh_token), 401, 'invalid_refresh_token');
    });

    it('is theft once the set it brought has been refreshed, however soon', async () => {
      const second = await refresh(merchant.tokens.refresh_token);
      const third = await refresh(second.body.refresh_token);
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
      expect(await statusWith(third.body.access_token)).toBe(401);
      expectProblem(await refresh(third.body.refresh_token), 401, 'invalid_refresh_token');
    });

    it('is theft for an ancestor long gone, too', async () => {
      let last = merchant.tokens;
      for (let round = 0; round < 3; round++) {
        last = (await refresh(last.refresh_token)).body;
        service.clock.advance({ days: 20 });
      }
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
      expectProblem(await refresh(last.refresh_token), 401, 'invalid_refresh_token');
    });

    it('ends the family as one security event, not one for each try', async () => {
      const { length } = service.logged;
      await refresh(merchant.tokens.refresh_token);
      await refreshedAgo(31);
      await atOnce(5, () => refresh(merchant.tokens.refresh_token));
      const events = service.logged.slice(length).filter((line) => line.includes('refresh_token_reused'));
      expect(events).toHaveLength(1);
      expect(JSON.parse(events[0] ?? '')).toMatchObject({ context: 'Security', merchant_id: merchant.id });
    });

    it('touches neither another session of the same user nor another merchant', async () => {
      const other = await aMerchant(service);
      const sibling = await anyone.post('/auth/login', { email: merchant.email, password: merchant.password });
      await refresh(merchant.tokens.refresh_token);
      await refreshedAgo(31);
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
      expect(await statusWith(sibling.body.access_token)).toBe(200);
      expect((await refresh(sibling.body.refresh_token)).status).toBe(201);
      expect((await refresh(other.tokens.refresh_token)).status).toBe(201);
    });
  });

  describe('while something else happens', () => {
    it('races a log-out: whoever is first, nothing of the family works afterwards', async () => {
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

    it('is overtaken by a theft: nothing of the session works afterwards', async () => {
      for (let round = 0; round < 5; round++) {
        const owner = await aMerchant(service);
        const { tokens } = owner;
        const { body } = await refresh(tokens.refresh_token);
        await refreshedAgo(31, owner);
        const [refreshed, stolen] = await Promise.all([refresh(body.refresh_token), refresh(tokens.refresh_token)]);
        expectProblem(stolen, 401, 'invalid_refresh_token');
        expect([201, 401]).toContain(refreshed.status);
        expect(await statusWith(refreshed.body.access_token ?? body.access_token)).toBe(401);
      }
    });

    it('rotates once where a set and its successor are refreshed at once, and never forks the family', async () => {
      const { body } = await refresh(merchant.tokens.refresh_token);
      const answers = await atOnce(10, (index) =>
        refresh(index % 2 === 0 ? body.refresh_token : merchant.tokens.refresh_token),
      );
      expect(answers.every(({ status }) => status === 201 || status === 401)).toBe(true);
      expect(await tokenSetsOf(merchant)).toBeLessThanOrEqual(3);
      expect(answers.some(({ status }) => status === 401)).toBe(true);
    });
  });

  describe('is refused', () => {
    it.each([
      ['an unknown token', 'cbrt_00000000-0000-4000-8000-000000000000'],
      ['no token at all', 'x'],
      ['an SQL injection', "' OR '1'='1"],
      ['a NUL', '\0'],
      ['half a surrogate pair', 'cbrt_\ud800'],
      ['a very long text', 'x'.repeat(200_000)],
    ])('for %s', async (_, refreshToken) => {
      expectProblem(await refresh(refreshToken), 401, 'invalid_refresh_token');
    });

    it('for an access token, and for the token in another case or with blanks', async () => {
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

    it.each([
      ['missing', {}],
      ['null', { refresh_token: null }],
      ['empty', { refresh_token: '' }],
      ['a number', { refresh_token: 1 }],
      ['an array', { refresh_token: ['cbrt_x'] }],
      ['an object', { refresh_token: { toString: 'cbrt_x' } }],
      ['called something else', { refreshToken: 'cbrt_x' }],
    ])('for a refresh_token that is %s', async (_, body) => {
      const answer = await anyone.post('/auth/refresh', body);
      expectProblem(answer, 400, 'validation_failed');
      expect(pointersOf(answer)).toEqual(['/refresh_token']);
    });

    it('after a log-out', async () => {
      await merchant.client.send('POST', '/auth/logout');
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
    });

    it('after the user was disabled, in a retry too', async () => {
      await refresh(merchant.tokens.refresh_token);
      await service.app.get(ApiUsersService).setDisabled(merchant.email, true);
      expectProblem(await refresh(merchant.tokens.refresh_token), 401, 'invalid_refresh_token');
    });

    it('after 30 idle days, and not before', async () => {
      const other = await aMerchant(service);
      service.clock.advance({ days: 30, seconds: -60 });
      expect((await refresh(merchant.tokens.refresh_token)).status).toBe(201);
      service.clock.advance({ seconds: 60 });
      expectProblem(await refresh(other.tokens.refresh_token), 401, 'invalid_refresh_token');
    });

    it('once the family is 90 days old, however often it was refreshed; and no token outlives it', async () => {
      let tokens: any = merchant.tokens;
      for (const step of [29, 29, 29]) {
        service.clock.advance({ days: step });
        tokens = (await refresh(tokens.refresh_token)).body;
      }
      service.clock.advance({ days: 3, minutes: -30 });
      const { status, body } = await refresh(tokens.refresh_token);
      expect(status).toBe(201);
      const left = Date.parse(body.access_token_expire_at) - service.clock.now().getTime();
      expect(left).toBeLessThanOrEqual(30 * 60_000);
      service.clock.advance({ minutes: 30 });
      expect(await statusWith(body.access_token)).toBe(401);
      expectProblem(await refresh(body.refresh_token), 401, 'invalid_refresh_token');
    });
  });

  async function tokenSetsOf({ email }: TestMerchant): Promise<number> {
    const sql =
      'SELECT COUNT(*) AS n FROM token_sets t JOIN sessions s ON s.id = t.session_id JOIN api_users u ON u.id = s.api_user_id WHERE u.email = ?';
    const rows = await service.dataSource.query(sql, [email]);
    return Number(rows[0].n);
  }
});
