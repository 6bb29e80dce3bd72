import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { aCnpj, aDocument, anOrder } from '../support/factories.js';
import { DEBUG_MODULES, TRACER, useCollector } from '../support/tracing.js';

const { database, collector, target, credentials, logIn } = useCollector();

/** A trace that the caller started, and its header. */
function aTrace(): { traceId: string; headers: Record<string, string> } {
  const traceId = randomBytes(16).toString('hex');
  return { traceId, headers: { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` } };
}

describe('tracing with an endpoint', () => {
  let service: BuiltService;
  let token: string;

  beforeAll(async () => {
    service = await startBuiltService(database.url, {
      ...DEBUG_MODULES,
      OTEL_EXPORTER_OTLP_ENDPOINT: target.url,
      OTEL_BSP_SCHEDULE_DELAY: '100',
    });
    token = (await logIn(service)).access_token;
  });
  afterAll(() => service?.kill());

  it("a request creates a span of its route and child spans of its queries in the caller's trace", async () => {
    const { traceId, headers } = aTrace();
    await new Client(service, token).post('/orders', anOrder(), { headers });
    const spans = await collector.trace(traceId);
    const request = spans.find(({ kind }) => kind === 2);
    expect(request).toMatchObject({
      name: 'POST /orders',
      attributes: { 'http.route': '/orders', 'http.status_code': 201 },
    });
    const queries = spans.filter(({ attributes }) => attributes['db.statement'] !== undefined);
    expect(queries.some(({ attributes }) => String(attributes['db.statement']).startsWith('INSERT INTO'))).toBe(true);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    for (const { parentSpanId } of queries) expect(ids).toContain(parentSpanId);
  });

  it('spans contain no document, token, address, or query value, even for failed queries', async () => {
    const [document, company] = [aDocument(), aCnpj()];
    const client = new Client(service, token);
    const order = anOrder({ document });
    const { traceId, headers } = aTrace();
    await client.post('/orders', order);
    await client.post('/orders', order);
    await client.post('/wallets/search', { document });
    await client.post('/orders', anOrder({ document: company, metadata: { till: 'till-3' } }));
    await client.get(`/orders?external_id=${order.external_id}`);
    await client.get(`/unknown/${document}?document=${document}`);
    await client.get('/orders/not-an-id', { headers: { 'user-agent': `document ${document}` } });
    await client.post('/orders', anOrder({ document, external_id: order.external_id }), { headers });
    await collector.trace(traceId);

    const sent = collector.received.join('\n');
    for (const secret of [
      document,
      company,
      'till-3',
      token,
      token.slice(5),
      credentials.email,
      credentials.password,
      order.external_id,
      '127.0.0.1',
      'user-agent',
      'Bearer',
    ])
      expect(sent).not.toContain(secret);
    expect(sent).toContain('WHERE');
  });

  it('health and metrics requests are not traced, and pending spans are sent at shutdown', async () => {
    const { traceId, headers } = aTrace();
    await new Client(service).get('/health/live', { headers });
    await new Client(service).get('/metrics', { headers });
    const last = aTrace();
    await new Client(service, token).get('/orders', { headers: last.headers });
    expect(await service.stop()).toBe(0);
    expect((await collector.trace(last.traceId)).length).toBeGreaterThan(1);
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
    expect(service.output()).toMatch(TRACER);
  });
});
