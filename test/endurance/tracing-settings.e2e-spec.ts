import { describe, expect, it } from '@jest/globals';
import { startBuiltService } from '../support/built-service.js';
import { Client } from '../support/client.js';
import { anOrder } from '../support/factories.js';
import { DEBUG_MODULES, TRACER, useCollector } from '../support/tracing.js';

const { database, collector, target, logIn } = useCollector();

describe('tracing with an unreachable collector', () => {
  it('an unreachable collector delays neither requests nor the shutdown', async () => {
    const service = await startBuiltService(database.url, {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/v1/traces',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    });
    const { access_token: token } = await logIn(service);
    expect((await new Client(service, token).post('/orders', anOrder())).status).toBe(201);
    expect(await service.stop()).toBe(0);
  });
});

describe('tracing without an endpoint', () => {
  it.each<Record<string, string>>([
    {},
    { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'here' },
    { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'here' },
  ])('the environment %j sends no spans and does not load the tracing modules', async (variables) => {
    const here = {
      ...variables,
      ...(variables.OTEL_EXPORTER_OTLP_ENDPOINT && { OTEL_EXPORTER_OTLP_ENDPOINT: target.url }),
    };
    const before = collector.received.length;
    const service = await startBuiltService(database.url, { ...DEBUG_MODULES, ...here });
    await logIn(service);
    expect(await service.stop()).toBe(0);
    expect(collector.received).toHaveLength(before);
    expect(service.output()).toContain('node_modules');
    expect(service.output()).not.toMatch(TRACER);
  });
});
