import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import { rowsOf } from '../support/wallets.js';
import type { Tokens } from '../support/shop.js';

describe('POST /auth/refresh with instances whose clocks differ by 40 seconds', () => {
  let database: TestDatabase;
  let one: Service;
  let ahead: Service;
  let merchant: TestMerchant;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    one = await startService({ databaseUrl: database.url });
    ahead = await startService({ databaseUrl: database.url });
    await ahead.clock.advance({ seconds: 40 });
  });
  beforeEach(async () => {
    merchant = await aMerchant(one);
  });
  afterAll(async () => {
    await ahead?.stop();
    await one?.stop();
    await database.drop();
  });

  const refresh = (at: Service, refreshToken: unknown): Promise<Answer<Tokens>> =>
    new Client(at).post<Tokens>('/auth/refresh', { refresh_token: refreshToken });

  it('POST /auth/refresh returns the same token set at another instance whose clock is 40 seconds ahead', async () => {
    const first = await refresh(one, merchant.tokens.refresh_token);
    expect(await refresh(ahead, merchant.tokens.refresh_token)).toMatchObject({ status: 201, body: first.body });
    const second = await refresh(ahead, first.body.refresh_token);
    expect(await refresh(one, first.body.refresh_token)).toMatchObject({ status: 201, body: second.body });
  });

  it('POST /auth/refresh treats a repeated refresh as theft after 30 seconds of the database clock, on every instance', async () => {
    for (const at of [one, ahead]) {
      const { tokens } = await aMerchant(one);
      for (const rotatesAt of [one, ahead]) expect((await refresh(rotatesAt, tokens.refresh_token)).status).toBe(201);
      await rowsOf(one, 'UPDATE token_sets SET rotated_at = rotated_at - INTERVAL 31 SECOND');
      expectProblem(await refresh(at, tokens.refresh_token), 401, 'invalid_refresh_token');
    }
  });
});
