import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import { rowsOf } from '../support/wallets.js';

const RATE_LIMIT = 3;

describe('an invented token', () => {
  let service: Service;
  let merchant: TestMerchant;
  let anyone: Client;

  beforeAll(async () => {
    // With one connection, its session counts the statements of every request.
    service = await startService({ env: { DATABASE_POOL_SIZE: '1', RATE_LIMIT: String(RATE_LIMIT) } });
    merchant = await aMerchant(service);
    anyone = new Client(service);
  });
  afterAll(() => service.stop());

  async function statementsOf(act: () => Promise<unknown>): Promise<number> {
    const questions = async (): Promise<number> => {
      const [row] = await rowsOf(service, "SHOW SESSION STATUS LIKE 'Questions'");
      return Number(row.Value);
    };
    const before = await questions();
    await act();
    return (await questions()) - before - 1;
  }

  it('as a bearer is answered 401 without a statement, however many are sent', async () => {
    const { access_token: genuine, refresh_token: refreshToken } = merchant.tokens;
    const inventions = [
      ...Array.from({ length: 40 }, () => `cbat_${randomUUID()}`),
      'x',
      refreshToken,
      genuine.slice(5),
      `${genuine}0`,
      genuine.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
    ];
    const statements = await statementsOf(async () => {
      for (const token of inventions) expectProblem(await anyone.get('/orders', { token }), 401, 'invalid_token');
    });
    expect(statements).toBe(0);
  });

  it('does not keep a genuine one of the same network from being accepted', async () => {
    for (let time = 0; time < 30; time++) await anyone.get('/orders', { token: `cbat_${randomUUID()}` });
    expect((await merchant.client.get('/orders')).status).toBe(200);
  });

  it('at POST /auth/refresh is answered 401 without a statement where it does not have the form of one', async () => {
    const statements = await statementsOf(async () => {
      for (const token of ['x', merchant.tokens.access_token, `cbrt_${'0'.repeat(36)}`])
        expectProblem(await anyone.post('/auth/refresh', { refresh_token: token }), 401, 'invalid_refresh_token');
    });
    expect(statements).toBe(0);
  });

  it('at POST /auth/refresh costs one statement within the limit of the network, and none above it', async () => {
    let lookups = 0;
    const statements = await statementsOf(async () => {
      for (let time = 0; time < 80; time++) {
        const { status } = await anyone.post('/auth/refresh', { refresh_token: `cbrt_${randomUUID()}` });
        expect([401, 429]).toContain(status);
        if (status === 401) lookups += 1;
      }
    });
    expect(lookups).toBeLessThan(80);
    expect(statements).toBe(lookups);
  });
});
