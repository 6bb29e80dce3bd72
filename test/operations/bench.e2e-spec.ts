import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Guarded, startGuarded, untilReady } from '../../tools/support/guarded-process.mjs';
import { freePort } from '../support/built-service.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { eventsOf } from '../support/events.js';
import { aMerchant, anOrder } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';

describe('the bare server of the bench', () => {
  let database: TestDatabase;
  let floor: Guarded;
  let url: string;
  let service: Service;
  beforeAll(async () => {
    database = await createMigratedDatabase();
    service = await startService({ databaseUrl: database.url });
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const env = { ...process.env, DATABASE_URL: database.url, DATABASE_POOL_SIZE: '1', PORT: String(port) };
    const args = ['bench/floor/server.mjs'];
    floor = await startGuarded({ command: process.execPath, args, env, output: 'inherit' });
  });
  afterAll(async () => {
    await floor.end(5000);
    await service.stop();
    await database.drop();
  });

  it('the bare server creates the same order and event as the service, so that comparing the two is fair', async () => {
    const merchant = await aMerchant(service);
    expect(await untilReady(url, floor)).toBe(true);
    const response = await fetch(`${url}/orders`, {
      method: 'POST',
      headers: { authorization: `Bearer ${merchant.tokens.access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify(anOrder({ total: '150.00' })),
    });
    expect(response.status).toBe(201);
    const created = (await response.json()) as { id: string; cashback: { to_receive: object } };
    const body = await merchant.order(created);
    // The bare server does not know time zones.
    const { available_at, available_on, expires_at, expires_on } = body.cashback.to_receive;
    const dates = { available_at, available_on, expires_at, expires_on };
    Object.assign(created.cashback.to_receive, dates);
    expect(created).toEqual(body);
    const { available: _a, maximum: _m, limited_by: _l, ...to_redeem } = body.cashback.to_redeem;
    const [event, ...others] = await eventsOf(service, merchant);
    expect(others).toEqual([]);
    Object.assign(event!.data.order!.cashback.to_receive, dates);
    expect(event).toMatchObject({ type: 'order.created', by: merchant.by, timestamp: body.created_at });
    expect(event!.data).toEqual({ order: { ...body, cashback: { ...body.cashback, to_redeem } } });
  });
});
