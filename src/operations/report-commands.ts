import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { UserNames } from '../auth/user-names.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type LedgerOptions, LedgerService } from '../reports/ledger.service.js';
import { ExpiringService, OutstandingService } from '../reports/outstanding.service.js';
import { PeriodReportsService } from '../reports/period-reports.service.js';
import { LEDGER_BY } from '../reports/report.dto.js';
import { runWithServices } from './application.js';
import { day, wholeNumber } from './arguments.js';
import { type Format, formatOption, printAs, type Row, usualFormat } from './output.js';

interface ReportOptions {
  merchant?: string;
  format?: Format;
}

type Read<Options> = (services: INestApplicationContext, merchantId: string, options: Options) => Promise<Report>;
interface Report {
  data: object[];
  total?: object;
}

type Add = <Options>(name: string, description: string, read: Read<Options>) => Command;

export function reportCommands(): Command {
  const report = new Command('report').description('reports for accounting; days and months are in each time zone');
  const add: Add = <Options>(name: string, description: string, read: Read<Options>) =>
    report
      .command(name)
      .description(description)
      .option('--merchant <id>', 'only this merchant')
      .addOption(formatOption())
      .action((options: ReportOptions & Options) => print(options, read));
  add<{ asOf?: string; by?: 'store' }>(
    'outstanding',
    "what each merchant owes its customers, now or at the end of a past day, and the customers' debt",
    (services, merchantId, { asOf, by }) => services.get(OutstandingService).report(merchantId, { as_of: asOf, by }),
  )
    .option('--as-of <day>', 'a day that is over; default: now', day)
    .addOption(byOption(['store']));
  withPeriod(
    add<LedgerOptions>(
      'ledger',
      'why it changed: opening + earned + granted - redeemed + returned - taken back - voided - expired = closing',
      (services, merchantId, options) => services.get(LedgerService).report(merchantId, options),
    ),
  )
    .addOption(byOption(LEDGER_BY))
    .option('--counts', 'also the orders and customers of at most 31 days');
  add<{ months: number }>(
    'expiring',
    'the cashback that will expire in this month and the following ones',
    (services, merchantId, options) => services.get(ExpiringService).report(merchantId, options),
  ).option('--months <n>', 'the number of months', wholeNumber(1, 120), 12);
  withPeriod(
    add<{ from: string; to: string }>(
      'grants',
      'who granted how much, by reason',
      (services, merchantId, { from, to }) => services.get(PeriodReportsService).grants(merchantId, { from, to }),
    ),
  );
  addOfCustomers(add);
  return report;
}

function addOfCustomers(add: Add): void {
  withPeriod(
    add<{ from: string; to: string; atLeast: number }>(
      'frequent',
      'customers with many completed orders in a day, and the users that completed them',
      (services, merchantId, { atLeast, ...period }) =>
        services.get(PeriodReportsService).frequent(merchantId, { ...period, at_least: atLeast }),
    ),
  ).option('--at-least <n>', 'the number of orders from which a customer is listed', wholeNumber(2, 1000), 3);
  withPeriod(
    add<{ from: string; to: string; limit: number }>(
      'customers',
      'the customers who bought most',
      (services, merchantId, options) => services.get(PeriodReportsService).customers(merchantId, options),
    ),
  ).option('--limit <n>', 'the maximum number of customers', wholeNumber(1, 1000), 100);
}

const withPeriod = (command: Command): Command =>
  command
    .requiredOption('--from <day>', 'the first day, such as 2026-11-01', day)
    .requiredOption('--to <day>', 'the day after the last one, such as 2026-12-01', day);

const byOption = (by: readonly string[]): Option =>
  new Option('--by <what>', 'a row for each; a store is the one that owes the cashback').choices(by);

function print<Options>(options: ReportOptions & Options, read: Read<Options>): Promise<void> {
  const format = options.format ?? usualFormat();
  return runWithServices(async (services) => {
    const rows: Row[] = [];
    for (const { id, name } of await services.get(MerchantsService).select(options.merchant)) {
      const { data, total } = await read(services, id, options);
      for (const row of data) rows.push({ merchant_id: id, name, ...row });
      // Other formats are for programs, which would add it up with the rows.
      if (format === 'table' && total !== undefined && data.length > 1)
        rows.push({ merchant_id: 'total', name, ...total });
    }
    printAs(format, await services.get(UserNames).fillIn(rows));
  });
}
