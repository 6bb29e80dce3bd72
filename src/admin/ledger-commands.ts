import { rename, writeFile } from 'node:fs/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { Gauge, Registry } from 'prom-client';
import { type Reconciliation, ReconcileService } from '../reconcile/reconcile.service.js';
import { StatementsService } from '../wallets/statements.service.js';
import { type DocumentOptions, documentOf, withDocument } from './private-input.js';
import { runWithServices } from './application.js';

interface ShowOptions extends DocumentOptions {
  merchant?: string;
  wallet?: string;
}

export function walletCommands(): Command {
  const wallet = new Command('wallet').description("customers' wallets");
  withDocument(
    wallet
      .command('show')
      .description("show a customer's wallet, its open credits and its latest ledger entries, at most 100 of each")
      .option('--merchant <id>', 'the merchant')
      .addOption(
        new Option(
          '--wallet <id>',
          'the wallet, instead of merchant and document; also finds the wallet of an erased customer',
        ).conflicts(['merchant', 'document', 'documentStdin']),
      ),
  ).action(async ({ wallet: walletId, merchant, ...options }: ShowOptions) => {
    if (walletId === undefined && merchant === undefined)
      throw new Error("one of '--wallet' and '--merchant' is required");
    const of =
      walletId === undefined ? { merchantId: merchant ?? '', document: await documentOf(options) } : { walletId };
    await runWithServices((services) => services.get(StatementsService).show(of));
  });
  return wallet;
}

export function reconcileCommand(): Command {
  return new Command('reconcile')
    .description(
      'check the rules of the money over the whole database: one JSON line per finding, then one with the counts; exit code 1 if there are findings',
    )
    .option('--metrics <file>', 'also write the counts as Prometheus metrics, for a textfile collector')
    .action(({ metrics }: { metrics?: string }) => runWithServices((services) => reconcile(services, metrics)));
}

/** How often the progress is shown. */
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
  console.log(JSON.stringify(result));
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
