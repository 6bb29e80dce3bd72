import { readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { makeTempFolder, run } from '../../tools/support/processes.mjs';
import { runNode } from '../support/build.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aCompletedOrder, aMerchant, type TestMerchant } from '../support/factories.js';
import { hasPrometheus, type Prometheus, startPrometheus } from '../support/prometheus.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService } from '../support/service.js';

const describeWithPrometheus = describeIf(hasPrometheus, 'Alerts and dashboard, because Prometheus is missing');

const dashboard = JSON.parse(readFileSync('ops/dashboard.json', 'utf8')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};
const queries = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const));

describeWithPrometheus('alert rules', () => {
  it('each alert is raised when it should be, and none for a healthy service', async () => {
    const { ok, output } = await run('promtool', ['test', 'rules', 'ops/alerts.test.yml'], { timeoutMs: 60_000 });
    expect({ ok, output }).toEqual({ ok: true, output: expect.stringContaining('SUCCESS') });
  });
});

describeWithPrometheus('the dashboard', () => {
  let database: TestDatabase;
  let service: Service;
  let merchant: TestMerchant;
  /** Serves the file of reconcile as node_exporter does. */
  let files: Server;
  let folder: string;
  let prometheus: Prometheus;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    service = await startService({ databaseUrl: database.url });
    merchant = await aMerchant(service);
    folder = makeTempFolder('cashback-metrics');
    const file = path.join(folder, 'reconcile.prom');
    await runNode('dist/src/admin.js', ['reconcile', '--metrics', file], { DATABASE_URL: database.url });
    files = createServer((_request, response) => response.end(readFileSync(file))).listen(0, '127.0.0.1');
    await once(files, 'listening');
    const targets = [new URL(service.url).host, `127.0.0.1:${(files.address() as AddressInfo).port}`];
    prometheus = await startPrometheus(targets, 'ops/alerts.yml');
  });
  afterAll(async () => {
    await prometheus?.stop();
    files?.close();
    rmSync(folder, { recursive: true });
    await service?.stop();
    await database?.drop();
  });

  /** What a shop does, with a refusal. */
  async function useService(): Promise<void> {
    const { id } = await aCompletedOrder(merchant);
    await merchant.client.get(`/orders/${id}`);
    await new Client(service).get('/orders');
  }

  it.each(queries)('the panel "%s" has data: %s', async (_title, expression) => {
    let values: number[] = [];
    for (let attempt = 0; attempt < 60 && !values.some(Number.isFinite); attempt++) {
      await useService();
      values = await prometheus.query(expression.replaceAll('$__rate_interval', '10s'));
      await sleep(500);
    }
    expect(values.filter(Number.isFinite)).not.toEqual([]);
  });

  it('a theft of a refresh token is counted', async () => {
    const thefts = async (): Promise<string | undefined> =>
      /^session_thefts_detected_total (\d+)$/m.exec((await new Client(service).get('/metrics')).body as string)?.[1];
    expect(await thefts()).toBe('0');
    const refresh = (token: string) => new Client(service).post('/auth/refresh', { refresh_token: token });
    const { body: second } = await refresh(merchant.tokens.refresh_token);
    await refresh(second.refresh_token);
    expect((await refresh(merchant.tokens.refresh_token)).status).toBe(401);
    expect(await thefts()).toBe('1');
  });
});
