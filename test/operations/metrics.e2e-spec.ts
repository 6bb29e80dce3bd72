import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { AdminCommandLine } from '../support/admin.js';
import { Client } from '../support/client.js';
import { aDocument, aMerchant, anOrder } from '../support/factories.js';
import { useService } from '../support/use-service.js';

describe('GET /metrics', () => {
  const { service, merchant } = useService();

  async function valueOf(line: string): Promise<number> {
    const { body } = await new Client(service).get<string>('/metrics');
    const found = body.split('\n').find((candidate) => candidate.startsWith(`${line} `));
    return Number(found?.split(' ').at(-1) ?? 0);
  }

  it('GET /metrics needs no token and uses the Prometheus text format', async () => {
    const { status, headers, body } = await new Client(service).get<string>('/metrics');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(body).toContain('nodejs_eventloop_lag_seconds');
    expect(body).toMatch(/database_pool_connections\{state="in_use"\} \d+/);
    expect(body).toMatch(/bcrypt_comparisons\{state="waiting"\} 0/);
  });

  it('merchant_requests_total counts the requests of each merchant by outcome, and none without a valid token', async () => {
    const other = await aMerchant(service);
    const countsOf = (id: string): Promise<number[]> =>
      Promise.all(
        ['ok', 'refused'].map((outcome) =>
          valueOf(`merchant_requests_total{merchant_id="${id}",outcome="${outcome}"}`),
        ),
      );
    const before = await countsOf(merchant.id);
    await merchant.policy();
    await merchant.orders('limit=none').refused(400, 'validation_failed');
    await new Client(service, 'cbat_00000000-0000-4000-8000-000000000000').get('/policy');
    expect((await countsOf(merchant.id)).map((count, at) => count - before[at]!)).toEqual([1, 1]);
    expect(await countsOf(other.id)).toEqual([0, 0]);
  });

  it('the order metrics count an order once even if it is sent or completed again', async () => {
    const before = {
      created: await valueOf('orders_total{event="created"}'),
      replayed: await valueOf('orders_total{event="replayed"}'),
    };
    const document = await merchant.customerWith('80.00');
    const order = await merchant.completed({ document }, { redeem: '20.00' });
    await merchant.complete(order);
    const sent = anOrder();
    await merchant.create(sent);
    await merchant.create(sent);
    expect(await valueOf('orders_total{event="created"}')).toBe(before.created + 2);
    expect(await valueOf('orders_total{event="replayed"}')).toBe(before.replayed + 1);
    expect(await valueOf('orders_total{event="completed"}')).toBe(1);
    expect(await valueOf('cashback_brl_total{event="redeemed"}')).toBe(20);
    expect(await valueOf('cashback_brl_total{event="earned"}')).toBe(6.5);
    expect(await valueOf('cashback_brl_total{event="granted"}')).toBe(80);
  });

  it('the cashback metrics count what is granted, voided, expired, returned and taken back once, and nothing that is refused', async () => {
    const events = ['earned', 'granted', 'redeemed', 'returned', 'taken_back', 'voided', 'expired'];
    const counted = (): Promise<number[]> =>
      Promise.all(events.map((event) => valueOf(`cashback_brl_total{event="${event}"}`)));
    const before = await counted();
    const since = async (): Promise<object> => {
      const differences = (await counted()).map((value, at) => Number((value - before[at]!).toFixed(2)));
      return Object.fromEntries(differences.flatMap((value, at) => (value === 0 ? [] : [[events[at]!, value]])));
    };
    const document = aDocument();
    const aGrant = (external_id: string, amount: string, expires_on?: string) =>
      merchant.grant({ external_id, document, amount, expires_on }).answer;
    const { body: mistake } = await aGrant('MISTAKE', '7.00');
    for (const amount of ['7.00', '7.01', '1000.01']) await aGrant('MISTAKE', amount);
    await aGrant('TOO-MUCH', '1000.01');
    expect(await since()).toEqual({ granted: 7 });
    for (const _attempt of ['first', 'second']) await merchant.voidGrant(mistake);
    expect(await since()).toEqual({ granted: 7, voided: 7 });

    const expiresAt = new Date(service.clock.now().getTime() + 10 * 60_000);
    await merchant.credit(document, '20.00', { expiresAt });
    const order = await merchant.completed({ document, total: '100.00' }, { redeem: '20.00' });
    const refund = { external_id: 'DEV-1', amount: '50.00' };
    for (const _attempt of ['first', 'second']) await merchant.client.post(`/orders/${order.id}/refunds`, refund);
    expect(await since()).toEqual({ granted: 27, voided: 7, redeemed: 20, earned: 4, returned: 10, taken_back: 2 });

    // What returned can be spent for seven days.
    await merchant.credit(document, '3.00', { expiresAt });
    await service.clock.advance({ minutes: 11 });
    await aGrant('LATER', '1.00');
    expect(await since()).toMatchObject({ granted: 31, expired: 3 });
  });

  it('the order metrics count an amendment once even if it is sent again, and none that is refused', async () => {
    const order = await merchant.create();
    const { items } = anOrder({ total: '10.00' });
    for (const total of ['10.00', '10.00']) await merchant.amend(order, { total, items, payment_methods: [] });
    await merchant.amend(order, { total: '-1.00', items, payment_methods: [] }).refused(400, 'validation_failed');
    expect(await valueOf('orders_total{event="amended"}')).toBe(1);
  });

  it('the metrics count errors by code and requests by route pattern', async () => {
    await merchant.client.get('/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10');
    expect(await valueOf('problems_total{code="not_found"}')).toBe(1);
    expect(await valueOf('http_request_duration_seconds_count{method="GET",route="/orders/:id",status="404"}')).toBe(1);
  });

  it('GET /metrics exports every metric of the service that an alert or the dashboard uses', async () => {
    const rules = readFileSync('ops/alerts.yml', 'utf8');
    const dashboard = JSON.parse(readFileSync('ops/dashboard.json', 'utf8')) as {
      panels: { targets?: { expr: string }[] }[];
    };
    const expressions = [
      ...[...rules.matchAll(/ expr: (?:\|\n((?: {10}.*\n)+)|(.*))/g)].map(([, block, line]) => block ?? line ?? ''),
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ];
    const used = new Set(expressions.flatMap(metricsIn));
    expect([...used]).toEqual(expect.arrayContaining(['http_request_duration_seconds_count', 'webhook_behind_events']));
    const { body } = await new Client(service).get<string>('/metrics');
    const exported = [...body.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? '');
    const recorded = [...rules.matchAll(/- record: (\S+)/g)].map(([, name]) => name ?? '');
    const known = [...exported, ...recorded, 'up'];
    const unknown = [...used].filter(
      (name) => !/^(haproxy|reconcile)_/.test(name) && !known.includes(name.replace(/_(bucket|count|sum)$/, '')),
    );
    expect(unknown).toEqual([]);
  });

  // Two hours later the token has expired, so this test comes last.
  it('operator_grants_brl is what operators granted with the command line within the last hour', async () => {
    const admin = new AdminCommandLine(service);
    const measured = async (): Promise<number> => {
      await service.clock.sweep();
      return valueOf('operator_grants_brl');
    };
    const before = await measured();
    const of = ['--merchant', merchant.id, '--document', aDocument()];
    for (const _attempt of ['first', 'second'])
      expect(
        await admin.run('grants', 'create', ...of, '--amount', '12000.50', '--external-id', 'BIG-1'),
      ).toMatchObject({ code: 0 });
    await merchant.grant({ external_id: 'BY-API', document: aDocument(), amount: '7.00' });
    expect((await measured()) - before).toBeCloseTo(12_000.5);
    await service.clock.advance({ hours: 2 });
    expect(await measured()).toBe(0);
  });
});

/** Returns the names in an expression that are not functions, operators or labels. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|without|on|ignoring) *\([^)]*\)/g, '');
  const names = [...bare.matchAll(/(?<![\w:.])[a-z_][\w:]*(?![\w:]| *\()/g)].map(([name]) => name);
  return names.filter((name) => !['and', 'or', 'unless'].includes(name));
}
