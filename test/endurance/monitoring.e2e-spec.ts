import { readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Edge, hasHaproxy, startEdge } from '../../tools/clusters/haproxy.mjs';
import { findFreePort } from '../../tools/support/ports.mjs';
import { makeTempFolder, run } from '../../tools/support/processes.mjs';
import { runNode } from '../support/build.js';
import { Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { BEHIND_EDGE } from '../support/edge.js';
import {
  copyConfiguration,
  hasPrometheus,
  METRICS_TOKEN,
  type Prometheus,
  startPrometheus,
} from '../support/prometheus.js';
import { describeIf } from '../support/requirements.js';
import { type Service, startService, testEnvironment } from '../support/service.js';
import type { Tokens } from '../support/shop.js';

const describeWithPrometheus = describeIf(hasPrometheus, 'Alerts, because Prometheus is missing');
const describeWithEdge = describeIf(
  hasPrometheus && (await hasHaproxy()),
  'The dashboard, because Prometheus or HAProxy is missing',
);

const dashboard = JSON.parse(readFileSync('ops/dashboard.json', 'utf8')) as {
  panels: { title: string; targets?: { expr: string }[] }[];
};
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

describeWithPrometheus('alert rules', () => {
  it('each alert is raised when it should be, and none for a healthy service', async () => {
    const { ok, output } = await run('promtool', ['test', 'rules', 'ops/alerts.test.yml'], { timeoutMs: 60_000 });
    expect({ ok, output }).toEqual({ ok: true, output: expect.stringContaining('SUCCESS') });
  });
});

describeWithPrometheus('ops/prometheus.yml', () => {
  it('Prometheus accepts ops/prometheus.yml with the rules and a file with METRICS_TOKEN beside it', async () => {
    const folder = makeTempFolder('cashback-prometheus');
    try {
      const { ok, output } = await run('promtool', ['check', 'config', copyConfiguration(folder)], {
        timeoutMs: 60_000,
      });
      expect({ ok, output }).toEqual({ ok: true, output: expect.stringContaining('rules found') });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describeWithEdge('the dashboard', () => {
  let database: TestDatabase;
  let service: Service;
  let edge: Edge;
  let merchant: TestMerchant;
  /** Serves the file of reconcile as node_exporter does. */
  let files: Server;
  let folder: string;
  let prometheus: Prometheus;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    service = await startService({ databaseUrl: database.url, env: { ...BEHIND_EDGE, METRICS_TOKEN } });
    const metricsOfEdge = `127.0.0.1:${await findFreePort()}`;
    edge = await startEdge([service.url], { EDGE_METRICS_LISTEN: metricsOfEdge });
    merchant = await aMerchant(service);
    merchant.client = new Client(edge, merchant.tokens.access_token);
    folder = makeTempFolder('cashback-metrics');
    const file = path.join(folder, 'reconcile.prom');
    await runNode('dist/src/admin.js', ['reconcile', '--metrics', file], testEnvironment(database.url));
    files = createServer((_request, response) => response.end(readFileSync(file))).listen(0, '127.0.0.1');
    await once(files, 'listening');
    prometheus = await startPrometheus({
      service: [new URL(service.url).host],
      edge: [metricsOfEdge],
      node: [`127.0.0.1:${(files.address() as AddressInfo).port}`],
    });
  });
  afterAll(async () => {
    await prometheus?.stop();
    files?.close();
    await edge?.stop();
    rmSync(folder, { recursive: true });
    await service?.stop();
    await database?.drop();
  });

  /** What a shop does, with a refusal. */
  async function useService(): Promise<void> {
    const { id } = await merchant.completed();
    await merchant.order({ id });
    await new Client(edge).get('/orders');
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
      /^session_thefts_detected_total (\d+)$/m.exec(
        (await new Client(service, METRICS_TOKEN).get<string>('/metrics')).body,
      )?.[1];
    expect(await thefts()).toBe('0');
    const refresh = (token: string) => new Client(service).post<Tokens>('/auth/refresh', { refresh_token: token });
    const { body: second } = await refresh(merchant.tokens.refresh_token);
    await refresh(second.refresh_token);
    expect((await refresh(merchant.tokens.refresh_token)).status).toBe(401);
    expect(await thefts()).toBe('1');
  });

  it('the alerts of a dead service, instance and edge begin when they stop, and not before', async () => {
    /** Waits until as many of them have begun. */
    const untilBegun = async (count: number): Promise<string[]> => {
      let begun: string[] = [];
      for (let attempt = 0; attempt < 60; attempt++) {
        begun = [...new Set((await prometheus.labels('ALERTS')).map(({ alertname = '' }) => alertname))];
        begun = begun.filter((name) => name.endsWith('Down')).sort();
        if (begun.length === count) break;
        await sleep(500);
      }
      return begun;
    };
    expect(await untilBegun(0)).toEqual([]);
    await service.stop();
    await edge.stop();
    expect(await untilBegun(3)).toEqual(['EdgeDown', 'InstanceDown', 'ServiceDown']);
  });
});
