import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import bcrypt from 'bcrypt';
import { Config } from '../../src/config/config.js';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { Passwords } from '../../src/auth/passwords.js';
import { Client } from '../support/client.js';
import { Comparisons } from '../support/comparisons.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';

/**
 * How long a login takes is for a benchmark. What decides it can be told without a clock: how often
 * bcrypt compares during one login, and at which cost.
 */
describe('the work of a login', () => {
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

  async function costsOf(email: string, password: string): Promise<number[]> {
    comparisons.costs.length = 0;
    await new Client(service).post('/auth/login', { email, password });
    return [...comparisons.costs];
  }

  it('is one comparison at the configured cost, whoever knocks', async () => {
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

  it('hashes a new password at that cost too', async () => {
    expect(bcrypt.getRounds(await service.app.get(Passwords).hash(PASSWORD))).toBe(6);
  });
});
