import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { UserNames } from '../auth/user-names.service.js';
import { EXPIRING } from '../cashback/expiring.js';
import { rename, writeFile } from 'node:fs/promises';
import { Gauge, Registry } from 'prom-client';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type Answer, Reads } from '../platform/database/reads.js';
import { withTotal } from '../platform/http/csv.js';
import { memberOf } from '../platform/values/names.js';
import { FREQUENT_CUSTOMERS, TOP_CUSTOMERS } from '../reports/customers.report.js';
import { GRANTS_BY_USER } from '../reports/grants.report.js';
import { LEDGER } from '../reports/ledger.report.js';
import { OUTSTANDING } from '../reports/outstanding.report.js';
import { LEDGER_BY } from '../reports/report.dto.js';
import { runWithServices } from './application.js';
import { day, wholeNumber } from './arguments.js';
import { AuditService } from './audit.service.js';
import { type Format, formatOption, printAs, printRows, type Row, toJson, usualFormat } from './output.js';
import { ReconcileService, type Reconciliation } from './reconcile/reconcile.service.js';

interface ReportOptions {
  merchant?: string;
  format?: Format;
}

interface Report {
  data: object[];
  total?: object;
  next_cursor?: string | null;
}

export function reportCommands(): Command {
  const report = new Command('report').description('reports for accounting; days and months are in each time zone');
  add(
    report,
    'outstanding',
    "what each merchant owes its customers, now or at the end of a past day, and the customers' debt",
    OUTSTANDING,
  )
    .option('--as-of <day>', 'a day that is over; default: now', day)
    .addOption(byOption(['store']));
  addWithDays(
    report,
    'ledger',
    'why it changed: opening + earned + granted - redeemed + returned - taken back - voided - expired = closing',
    LEDGER,
  ).addOption(byOption(LEDGER_BY));
  add(report, 'expiring', 'the cashback that will expire in this month and the following ones', EXPIRING).option(
    '--months <n>',
    'the number of months',
    wholeNumber(1, 120),
    12,
  );
  addWithDays(report, 'grants', 'who granted how much, by reason', GRANTS_BY_USER);
  addWithDays(
    report,
    'frequent',
    'customers with many completed orders in a day, and the users that completed them',
    FREQUENT_CUSTOMERS,
  ).option('--at-least <n>', 'the number of orders from which a customer is listed', wholeNumber(2, 1000), 3);
  addWithDays(report, 'customers', 'the customers who bought most', TOP_CUSTOMERS).option(
    '--limit <n>',
    'the maximum number of customers',
    wholeNumber(1, 1000),
    100,
  );
  return report;
}

/** @param answer the report of `GET /reports/<name>`, whose parameters the options are. */
const add = <Query>(report: Command, name: string, description: string, answer: Answer<Query, Report>): Command =>
  report
    .command(name)
    .description(description)
    .option('--merchant <id>', 'only this merchant')
    .addOption(formatOption())
    .action((options: ReportOptions) => print(options, answer));

const addWithDays: typeof add = (...given) =>
  add(...given)
    .requiredOption('--from <day>', 'the first day, such as 2026-11-01', day)
    .requiredOption('--to <day>', 'the day after the last one, such as 2026-12-01', day);

const byOption = (by: readonly string[]): Option =>
  new Option('--by <what>', 'a row for each; a store is the one that owes the cashback').choices(by);

function print<Query>(options: ReportOptions, answer: Answer<Query, Report>): Promise<void> {
  const format = options.format ?? usualFormat();
  const parameters = Object.entries(options).map(([name, value]): [string, unknown] => [memberOf(name), value]);
  const query = Object.fromEntries(parameters) as Query;
  return runWithServices(async (services) => {
    const rows: Row[] = [];
    for (const { id, name } of await services.get(MerchantsService).select(options.merchant)) {
      const { data, total } = await readAll(services.get(Reads), id, query, answer);
      const shown = format === 'csv' || format === 'csv-pt-BR' ? withTotal(data, total) : data;
      for (const row of shown) rows.push({ merchant_id: id, name, ...row });
      // JSON is for programs, which would add it up with the rows.
      if (format === 'table' && total !== undefined && data.length > 1)
        rows.push({ merchant_id: 'total', name, ...total });
    }
    printAs(format, await services.get(UserNames).fillIn(rows));
  });
}

/** Reads a report with all of its pages. */
async function readAll<Query>(
  reads: Reads,
  merchantId: string,
  query: Query,
  answer: Answer<Query, Report>,
): Promise<Report> {
  const report = await reads.read(merchantId, query, answer);
  for (let cursor = report.next_cursor; cursor;) {
    const page = await reads.read(merchantId, { ...query, cursor }, answer);
    report.data.push(...page.data);
    cursor = page.next_cursor;
  }
  return report;
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
