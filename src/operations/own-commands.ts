import { type INestApplicationContext } from '@nestjs/common';
import { Command } from 'commander';
import { randomBytes } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { printRows, usualFormat } from './output.js';
import { type Reconciliation } from './reconcile/reconcile.service.js';

/** The commands that are no operation of the API: a file, and the whole database. */

export function importCommand(): Command {
  return new Command('import')
    .summary('grant the credits of a file')
    .description(
      'Grants the credits of a CSV file: one JSON line per bad line, then one with the counts; exit code 1 if there are bad lines. Run it again after an interruption or with corrected lines: existing grants stay as they are.',
    )
    .requiredOption(
      '--file <path>',
      'a CSV file whose first line names the columns document,amount,external_id and, if you need them, available_on,expires_on,reason,note,store,metadata.<key>',
    )
    .option('--merchant <id>', 'the merchant; default: the only one')
    .option('--dry-run', 'write nothing: check all lines, and print what would be granted')
    .addHelpText('after', '\nExample:\n  npm run admin -- grants import --file credits.csv --dry-run')
    .action(async (given: { merchant?: string; file: string; dryRun?: true }) => {
      const { withServices } = await import('./application.js');
      await withServices((services) => importFile(services, given));
    });
}

async function importFile(
  services: INestApplicationContext,
  { merchant, file, dryRun = false }: { merchant?: string; file: string; dryRun?: boolean },
): Promise<void> {
  const { changing, merchantNamed, oneMerchant } = await import('./application.js');
  const { importCredits } = await import('./credit-import.js');
  const { id: merchantId } = await oneMerchant(services, await merchantNamed(services, merchant));
  const read = async () => {
    const summary = await importCredits(services, { merchantId, file, isDryRun: dryRun });
    printRows([{ ...summary }], { format: usualFormat(), timeZone: undefined });
    if (summary.bad > 0) process.exitCode = 1;
    return { result: undefined, changed: { ...summary } };
  };
  if (dryRun) await read();
  else await changing(services, 'grants import', { merchant_id: merchantId, file: basename(file) }, read);
}

export function reconcileCommand(): Command {
  return new Command('reconcile')
    .option('--metrics <file>', 'also write the counts as Prometheus metrics, for a textfile collector')
    .addHelpText(
      'before',
      'Prints one JSON line per finding, then one with the counts. The exit code is 1 if there are findings.\n',
    )
    .action(async ({ metrics }: { metrics?: string }) => {
      const { withServices } = await import('./application.js');
      // It signs nothing, and also runs where only the migrations' user is known.
      const JWT_SECRET = randomBytes(32).toString('hex');
      await withServices((services) => reconcile(services, metrics), { JWT_SECRET });
    });
}

const PROGRESS_INTERVAL_MS = 5000;

/** Prints each finding immediately. Progress and warnings go to stderr. */
async function reconcile(services: INestApplicationContext, metricsFile?: string): Promise<void> {
  const { ReconcileService } = await import('./reconcile/reconcile.service.js');
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
  printRows([{ ...result }], { format: usualFormat(), timeZone: undefined });
}

/** Replaces the file at once, because a collector can read it at any time. */
async function writeMetrics(
  file: string,
  { findings, wallets, orders }: Reconciliation,
  durationMs: number,
): Promise<void> {
  const { Gauge, Registry } = await import('prom-client');
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
