import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { useService } from '../support/use-service.js';
import { statementsOf } from '../support/server-counters.js';
import type { Tokens } from '../support/shop.js';

const RATE_LIMIT = 3;

describe('made-up tokens', () => {
  const { service, merchant } = useService({ env: { DATABASE_POOL_SIZE: '1', RATE_LIMIT: String(RATE_LIMIT) } });
  const anyone = new Client(service);

  it('GET /orders rejects any number of made-up access tokens with 401 and no SQL statement', async () => {
    const { access_token: genuine, refresh_token: refreshToken } = merchant.tokens;
    const inventions = [
      ...Array.from({ length: 40 }, () => `cbat_${randomUUID()}`),
      'x',
      refreshToken,
      genuine.slice(5),
      `${genuine}0`,
      genuine.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
    ];
    const statements = await statementsOf(service, async () => {
      for (const token of inventions) expectProblem(await anyone.get('/orders', { token }), 401, 'invalid_token');
    });
    expect(statements).toBe(0);
  });

  it('made-up access tokens do not affect a valid access token from the same network', async () => {
    for (let time = 0; time < 30; time++) await anyone.get('/orders', { token: `cbat_${randomUUID()}` });
    expect(await merchant.orders()).toMatchObject({ data: [] });
  });

  it('POST /auth/refresh rejects a malformed refresh token with 401 and no SQL statement', async () => {
    const statements = await statementsOf(service, async () => {
      for (const token of ['x', merchant.tokens.access_token, `cbrt_${'0'.repeat(36)}`])
        expectProblem(
          await anyone.post<Tokens>('/auth/refresh', { refresh_token: token }),
          401,
          'invalid_refresh_token',
        );
    });
    expect(statements).toBe(0);
  });

  it('POST /auth/refresh runs one SQL statement per made-up token within the rate limit of the network and none above it', async () => {
    let lookups = 0;
    const statements = await statementsOf(service, async () => {
      for (let time = 0; time < 80; time++) {
        const { status } = await anyone.post<Tokens>('/auth/refresh', { refresh_token: `cbrt_${randomUUID()}` });
        expect([401, 429]).toContain(status);
        if (status === 401) lookups += 1;
      }
    });
    expect(lookups).toBeLessThan(80);
    expect(statements).toBe(lookups);
  });
});
