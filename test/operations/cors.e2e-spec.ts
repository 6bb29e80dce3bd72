import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';

const SHOP = 'https://shop.example';
const ADMIN = 'http://localhost:8080';
const STRANGER = 'https://stranger.example';

let service: Service;
let merchant: TestMerchant;

/** What a browser asks before it sends an order for a page. */
function preflight(origin: string): Promise<Answer> {
  const asked = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  };
  return merchant.client.send('OPTIONS', '/orders', { headers: { origin, ...asked } });
}

/** The header fields of an answer that have to do with other origins. */
function corsFields({ headers }: Answer): string[] {
  return [...headers.keys()].filter((name) => name.startsWith('access-control-'));
}

describe('with CORS_ORIGINS', () => {
  beforeAll(async () => {
    service = await startService({ env: { CORS_ORIGINS: `${SHOP}, ${ADMIN}` } });
    merchant = await aMerchant(service);
  });
  afterAll(() => service.stop());

  it.each([SHOP, ADMIN])('a page of %s may send an order with a token', async (origin) => {
    const allowed = await preflight(origin);
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get('access-control-allow-origin')).toBe(origin);
    expect(allowed.headers.get('access-control-allow-methods')?.split(',')).toContain('POST');
    expect(allowed.headers.get('access-control-allow-headers')?.split(',')).toEqual(
      expect.arrayContaining(['authorization', 'content-type']),
    );
    expect(allowed.headers.has('access-control-allow-credentials')).toBe(false);

    const created = await merchant.client.post('/orders', anOrder(), { headers: { origin } });
    expect({ status: created.status, allowed: created.headers.get('access-control-allow-origin') }).toEqual({
      status: 201,
      allowed: origin,
    });
  });

  it('such a page may read the headers that answers are made of, refusals too', async () => {
    const refused = await merchant.client.post('/orders', {}, { headers: { origin: SHOP } });
    expectProblem(refused, 400, 'validation_failed');
    expect(refused.headers.get('access-control-allow-origin')).toBe(SHOP);
    const exposed = (refused.headers.get('access-control-expose-headers') ?? '').split(',');
    expect(exposed).toEqual(
      expect.arrayContaining(['x-request-id', 'Idempotency-Replayed', 'Retry-After', 'RateLimit', 'RateLimit-Policy']),
    );
  });

  it.each([STRANGER, `${SHOP}.stranger.example`, 'http://shop.example', 'null'])(
    'a page of %s is told nothing that a browser would take for leave',
    async (origin) => {
      const asked = await preflight(origin);
      expectProblem(asked, 405, 'method_not_allowed');
      const read = await merchant.client.get('/orders', { headers: { origin } });
      expect([corsFields(asked), corsFields(read)]).toEqual([[], []]);
    },
  );

  it('every answer says to caches that it depends on the origin', async () => {
    const varies = await Promise.all(
      [SHOP, STRANGER].map((origin) => merchant.client.get('/orders', { headers: { origin } })),
    );
    for (const { headers } of varies) expect(headers.get('vary')).toContain('Origin');
  });

  it('an OPTIONS that is no preflight is answered 405 with Allow, as before', async () => {
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

  it('no answer has a header of CORS, and a preflight is a method that the resource does not know', async () => {
    const asked = await preflight(SHOP);
    expectProblem(asked, 405, 'method_not_allowed');
    expect(asked.headers.get('allow')).toBe('GET, HEAD, POST');
    const created = await merchant.client.post('/orders', anOrder(), { headers: { origin: SHOP } });
    expect(created.status).toBe(201);
    expect([corsFields(asked), corsFields(created)]).toEqual([[], []]);
    expect(created.headers.get('vary') ?? '').not.toContain('Origin');
  });
});
