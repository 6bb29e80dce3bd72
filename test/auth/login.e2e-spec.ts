import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { type Answer, Client } from '../support/client.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { aMerchant, PASSWORD } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';
import type { Tokens } from '../support/shop.js';
import { changeUser } from '../support/users.js';

describe('POST /auth/login', () => {
  const { service, merchant } = useService();
  const anyone = new Client(service);

  const login = (credentials: unknown): Promise<Answer<Tokens>> => anyone.post<Tokens>('/auth/login', credentials);

  it('POST /auth/login returns an access_token_expire_at that is one hour ahead', async () => {
    const before = service.clock.now().getTime();
    const { body } = await login({ email: merchant.email, password: PASSWORD });
    const lifetime = Date.parse(body.access_token_expire_at) - before;
    expect(lifetime).toBeGreaterThanOrEqual(3_600_000);
    expect(Date.parse(body.access_token_expire_at)).toBeLessThanOrEqual(service.clock.now().getTime() + 3_600_000);
  });

  it('POST /auth/login finds a user whose email was created in upper case', async () => {
    const user = { merchantId: merchant.id, name: 'Caixa', email: 'Someone.ELSE@Shop.Example', permissions: [] };
    await service.app.get(ApiUsersService).create(user, PASSWORD);
    expect((await login({ email: 'someone.else@shop.example', password: PASSWORD })).status).toBe(201);
  });

  it('the database stores the SHA-256 of both tokens and neither token in plain text', async () => {
    const { body } = await login({ email: merchant.email, password: PASSWORD });
    const hash = createHash('sha256').update(body.access_token).digest();
    expect(await rowsOf(service, 'SELECT * FROM token_sets WHERE access_hash = ?', [hash])).toMatchObject([
      { refresh_hash: createHash('sha256').update(body.refresh_token).digest() },
    ]);
    const kept = JSON.stringify(
      await service.dataSource.query('SELECT * FROM token_sets JOIN sessions ON sessions.id = session_id'),
    );
    expect(kept).not.toContain(body.access_token.slice(5));
    expect(kept).not.toContain(body.refresh_token.slice(5));
  });

  describe('POST /auth/login errors', () => {
    it('POST /auth/login returns identical errors for a wrong password, an unknown email, and a disabled user', async () => {
      const disabled = await aMerchant(service);
      await changeUser(service, disabled, { isDisabled: true });
      const answers = [
        await login({ email: merchant.email, password: `${PASSWORD}!` }),
        await login({ email: 'nobody@shop.example', password: PASSWORD }),
        await login({ email: disabled.email, password: PASSWORD }),
      ];
      for (const answer of answers) expectProblem(answer, 401, 'invalid_credentials');
      const bodies = answers.map(({ body }) => ({ ...body, request_id: undefined }));
      expect(bodies[1]).toEqual(bodies[0]);
      expect(bodies[2]).toEqual(bodies[0]);
      const names = answers.map(({ headers }) => [...headers.keys()].sort());
      expect(names[1]).toEqual(names[0]);
      expect(names[2]).toEqual(names[0]);
    });

    it('POST /auth/login starts no session when the password is wrong', async () => {
      const count = async (): Promise<unknown> =>
        service.dataSource.query('SELECT (SELECT COUNT(*) FROM sessions) s, (SELECT COUNT(*) FROM token_sets) t');
      const before = await count();
      await login({ email: merchant.email, password: 'wrong' });
      expect(await count()).toEqual(before);
    });

    it.each([
      ['followed by a NUL', `${PASSWORD}\0`],
      ['followed by a NUL and more text', `${PASSWORD}\0rest`],
      ['one character too short', PASSWORD.slice(0, -1)],
      ['followed by a space', `${PASSWORD} `],
      ['longer than bcrypt reads', PASSWORD.padEnd(100_000, 'x')],
      ['the hash of the password', '$2b$04$abcdefghijklmnopqrstuuS8g4Gx2aS0bT1kV8Jk1pQyQvJvJvJvJv'],
      ['half a surrogate pair', `${PASSWORD}\ud800`],
    ])('POST /auth/login returns 401 when the password is %s', async (_, password) => {
      expectProblem(await login({ email: merchant.email, password }), 401, 'invalid_credentials');
    });

    it('POST /auth/login returns 401 when only the 72 bytes that bcrypt reads are equal', async () => {
      const password = 'é'.repeat(36);
      const user = { merchantId: merchant.id, name: 'Caixa', email: 'long@shop.example', permissions: [] };
      await service.app.get(ApiUsersService).create(user, password);
      expect((await login({ email: 'long@shop.example', password })).status).toBe(201);
      expectProblem(await login({ email: 'long@shop.example', password: `${password}x` }), 401, 'invalid_credentials');
    });

    it.each([
      ['an email with a NUL', { email: 'a\0@shop.example', password: 'p' }, ['/email']],
      ['objects', { email: { $ne: '' }, password: { $gt: '' } }, ['/email', '/password']],
      [
        'objects with a constructor',
        { email: { constructor: 1 }, password: [{ constructor: 1 }] },
        ['/email', '/password'],
      ],
      ['booleans', { email: true, password: true }, ['/email', '/password']],
    ])('POST /auth/login returns 400 with every validation error for %s', async (_, credentials, pointers) => {
      const answer = await login(credentials);
      expectProblem(answer, 400, 'validation_failed');
      expect(pointersOf(answer)).toEqual(pointers);
    });

    it('POST /auth/login returns 401 for the old password after an operator sets a new one', async () => {
      const other = await aMerchant(service);
      await changeUser(service, other, { password: 'another password' });
      expectProblem(await login({ email: other.email, password: PASSWORD }), 401, 'invalid_credentials');
      expect((await login({ email: other.email, password: 'another password' })).status).toBe(201);
    });

    it('POST /auth/login succeeds when a disabled user is enabled again', async () => {
      const other = await aMerchant(service);
      await changeUser(service, other, { isDisabled: true });
      await changeUser(service, other, { isDisabled: false });
      expect((await login({ email: other.email, password: PASSWORD })).status).toBe(201);
    });
  });
});
