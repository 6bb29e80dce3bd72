import { rename, writeFile } from 'node:fs/promises';
import { type INestApplicationContext } from '@nestjs/common';
import { Command } from 'commander';
import { Gauge, Registry } from 'prom-client';
import { SessionsService } from '../auth/sessions.service.js';
import { after, Clock, DAY_MS } from '../platform/values/time.js';
import { runChange, runWithServices } from './application.js';
import { wholeNumber } from './arguments.js';
import { AuditService } from './audit.service.js';
import { printRows, toJson } from './output.js';
import { type Reconciliation, ReconcileService } from './reconcile/reconcile.service.js';

/** Ended sessions are kept long enough to investigate a token theft, which may be noticed weeks later. */
const DEFAULT_DAYS = 30;

export function sessionCommands(): Command {
  const session = new Command('session').description("sessions of merchants' systems");
  session
    .command('prune')
    .description('delete sessions that ended long ago, with their token sets')
    .option(
      '--ended-days <n>',
      'delete sessions that expired, were revoked, or could no longer be refreshed at least this many days ago',
      wholeNumber(1, 3650),
      DEFAULT_DAYS,
    )
    .action(({ endedDays }: { endedDays: number }) =>
      runChange('session prune', { ended_days: endedDays }, async (services) => {
        const endedBefore = after(services.get(Clock).now(), -endedDays * DAY_MS);
        const result = await services.get(SessionsService).prune(endedBefore);
        return { result, changed: result };
      }),
    );
  return session;
}

export function auditCommands(): Command {
  const audit = new Command('audit').description('the log of changes that operators made with this command line');
  audit
    .command('list')
    .description('list changes, latest first: who, when, which command, which IDs')
    .option('--limit <n>', 'maximum number of changes', wholeNumber(1, 10_000), 100)
    .action(({ limit }: { limit: number }) =>
      runWithServices(async (services) => printRows((await services.get(AuditService).list(limit)).map(toJson))),
    );
  return audit;
}

export function reconcileCommand(): Command {
  return new Command('reconcile')
    .description(
      'check the rules of the money over the whole database: one JSON line per finding, then one with the counts; exit code 1 if there are findings',
    )
    .option('--metrics <file>', 'also write the counts as Prometheus metrics, for a textfile collector')
    .action(({ metrics }: { metrics?: string }) => runWithServices((services) => reconcile(services, metrics)));
}

const PROGRESS_INTERVAL_MS = 5000;

/** Prints each finding immediately. Progress and warnings go to stderr. */
async function reconcile(services: INestApplicationContext, metricsFile?: string): Promise<void> {
  const startedAt = Date.now();
  let reportedAt = startedAt;
  const result = await services.get(ReconcileService).reconcile({
    onFinding: (finding) => console.log(JSON.stringify(finding)),
    onProgress: ({ wallets, orders }) => {
      if (Date.now() - reportedAt < PROGRESS_INTERVAL_MS) return;
      reportedAt = Date.now();
      console.error(`checked ${wallets} wallets and ${orders} orders`);
    },
  });
  for (const warning of result.warnings) console.error(`warning: ${warning}`);
  if (result.findings > 0) process.exitCode = 1;
  if (metricsFile !== undefined) await writeMetrics(metricsFile, result, Date.now() - startedAt);
  printRows([{ ...result }]);
}

/** Replaces the file at once, because a collector can read it at any time. */
async function writeMetrics(
  file: string,
  { findings, wallets, orders }: Reconciliation,
  durationMs: number,
): Promise<void> {
  const registry = new Registry();
  const gauge = (name: string, help: string, value: number): void =>
    new Gauge({ name: `reconcile_${name}`, help, registers: [registry] }).set(value);
  gauge('findings', 'Findings of the last reconcile', findings);
  gauge('wallets', 'Wallets that the last reconcile checked', wallets);
  gauge('orders', 'Orders that the last reconcile checked', orders);
  gauge('duration_seconds', 'Duration of the last reconcile', durationMs / 1000);
  gauge('finished_timestamp_seconds', 'When the last reconcile finished', Date.now() / 1000);
  const partial = `${file}.${process.pid}`;
  await writeFile(partial, await registry.metrics());
  await rename(partial, file);
}
