import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';

const SHOP = 'https://shop.example';
const ADMIN = 'http://localhost:8080';
const STRANGER = 'https://stranger.example';

let service: Service;
let merchant: TestMerchant;

/** Sends the preflight request of a browser for POST /orders. */
function preflight(origin: string): Promise<Answer> {
  const asked = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  };
  return merchant.client.send('OPTIONS', '/orders', { headers: { origin, ...asked } });
}

/** The CORS headers of a response. */
function corsFields({ headers }: Answer<unknown>): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-'));
}

describe('with CORS_ORIGINS', () => {
  beforeAll(async () => {
    service = await startService({ env: { CORS_ORIGINS: `${SHOP}, ${ADMIN}` } });
    merchant = await aMerchant(service);
  });
  afterAll(() => service.stop());

  it.each([SHOP, ADMIN])('a page from the allowed origin %s can send an order with a token', async (origin) => {
    const allowed = await preflight(origin);
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-origin')).toBe(origin);
    expect(allowed.headers.get('access-control-allow-methods')?.split(',')).toEqual(['GET', 'POST', 'PUT', 'DELETE']);
    expect(allowed.headers.get('access-control-allow-headers')?.split(',')).toEqual(
      expect.arrayContaining(['authorization', 'content-type', 'if-match']),
    );
    expect(allowed.headers.has('access-control-allow-credentials')).toBe(false);

    const created = await merchant.create({}, { headers: { origin } }).answer;
    expect({ status: created.status, allowed: created.headers.get('access-control-allow-origin') }).toEqual({
      status: 201,
      allowed: origin,
    });
  });

  it('a page from an allowed origin can read the response headers, also of errors', async () => {
    const refused = await merchant.client.post('/orders', {}, { headers: { origin: SHOP } });
    expectProblem(refused, 400, 'validation_failed');
    expect(refused.headers.get('access-control-allow-origin')).toBe(SHOP);
    const exposed = (refused.headers.get('access-control-expose-headers') ?? '').split(',');
    expect(exposed).toEqual(
      expect.arrayContaining(['x-request-id', 'Idempotency-Replayed', 'Retry-After', 'RateLimit', 'RateLimit-Policy']),
    );
  });

  it.each([STRANGER, `${SHOP}.stranger.example`, 'http://shop.example', 'null'])(
    'a page from the origin %s that is not allowed gets no CORS headers',
    async (origin) => {
      const asked = await preflight(origin);
      expectProblem(asked, 405, 'method_not_allowed');
      const read = await merchant.client.get('/orders', { headers: { origin } });
      expect([corsFields(asked), corsFields(read)]).toEqual([[], []]);
    },
  );

  it('every response contains Vary: Origin when CORS_ORIGINS is set', async () => {
    const varies = await Promise.all(
      [SHOP, STRANGER].map((origin) => merchant.client.get('/orders', { headers: { origin } })),
    );
    for (const { headers } of varies) expect(headers.get('vary')).toContain('Origin');
  });

  it('an OPTIONS request that is not a preflight returns 405 with Allow when CORS_ORIGINS is set', async () => {
    const answer = await merchant.client.send('OPTIONS', '/orders', { headers: { origin: SHOP } });
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST');
  });
});

describe('without CORS_ORIGINS', () => {
  beforeAll(async () => {
    service = await startService();
    merchant = await aMerchant(service);
  });
  afterAll(() => service.stop());

  it('without CORS_ORIGINS, no response has CORS headers and a preflight returns 405', async () => {
    const asked = await preflight(SHOP);
    expectProblem(asked, 405, 'method_not_allowed');
    expect(asked.headers.get('allow')).toBe('GET, HEAD, POST');
    const created = await merchant.create({}, { headers: { origin: SHOP } }).answer;
    expect(created.status).toBe(201);
    expect([corsFields(asked), corsFields(created)]).toEqual([[], []]);
    expect(created.headers.get('vary') ?? '').not.toContain('Origin');
  });
});
