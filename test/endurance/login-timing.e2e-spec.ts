import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { Config } from '../../src/config/config.js';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { Passwords } from '../../src/auth/passwords.js';
import { atOnce, Client } from '../support/client.js';
import { Comparisons } from '../support/comparisons.js';
import { createMigratedDatabase } from '../support/database.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import { rowsOf } from '../support/wallets.js';
import type { Tokens } from '../support/shop.js';

/**
 * These tests count the bcrypt comparisons of one login and read their cost, because they determine how long a login
 * takes. The duration itself is measured by a benchmark.
 */
describe('the cost of a login', () => {
  let comparisons: Comparisons;
  let service: Service;
  let merchant: TestMerchant;

  beforeAll(async () => {
    comparisons = new Comparisons();
    service = await startService({ env: { BCRYPT_COST: '6' } });
    merchant = await aMerchant(service);
  });
  afterAll(async () => {
    comparisons.stop();
    await service?.stop();
  });

  async function costsOf(email: string, password: string, of = service): Promise<number[]> {
    comparisons.hashes.length = 0;
    await new Client(of).post<Tokens>('/auth/login', { email, password });
    return comparisons.costs;
  }

  it('each login runs one bcrypt comparison at the configured cost, also for wrong passwords, unknown emails, and disabled users', async () => {
    const disabled = await aMerchant(service);
    await service.app.get(ApiUsersService).setDisabled(disabled.email, true);
    expect(service.app.get(Config).BCRYPT_COST).toBe(6);
    expect(await costsOf(merchant.email, PASSWORD)).toEqual([6]);
    expect(await costsOf(merchant.email, 'wrong')).toEqual([6]);
    expect(await costsOf('nobody@shop.example', PASSWORD)).toEqual([6]);
    expect(await costsOf(disabled.email, PASSWORD)).toEqual([6]);
    expect(await costsOf(merchant.email, 'x'.repeat(73))).toEqual([6]);
    expect(await costsOf('nobody@shop.example', 'x'.repeat(73))).toEqual([6]);
  });

  it('a new password is hashed at the configured cost', async () => {
    expect(bcrypt.getRounds(await service.app.get(Passwords).hash(PASSWORD))).toBe(6);
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
