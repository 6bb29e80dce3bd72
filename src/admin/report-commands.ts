import { Command } from 'commander';
import { dayOf } from '../common/calendar-days.js';
import { Clock } from '../common/clock.js';
import { formatMoney } from '../common/money.js';
import { runWithServices } from './application.js';
import { month, wholeNumber } from './arguments.js';
import { ExpiringService } from './expiring.service.js';
import { LedgerService } from './ledger.service.js';
import { type Outstanding, OutstandingService } from './outstanding.service.js';
import { type Format, formatOption, printAs, type Row, toJson, usualFormat } from './rows.js';

interface ReportOptions {
  merchant?: string;
  format?: Format;
}

export function reportCommands(): Command {
  const report = new Command('report').description('reports for accounting');
  const add = (name: string, description: string): Command =>
    report
      .command(name)
      .description(description)
      .option('--merchant <id>', 'only this merchant')
      .addOption(formatOption());
  add(
    'outstanding',
    "what each merchant owes its customers now, from one consistent snapshot: available, pending and held cashback, the customers' debt, what expires within 30 days, and the sums",
  ).action((options: ReportOptions) => outstanding(options));
  add(
    'ledger',
    "the ledger of a month in each merchant's time zone: opening + earned + granted - redeemed + returned - taken back - voided - expired = closing",
  )
    .requiredOption('--month <month>', 'the month, such as 2026-11', month)
    .action((options: ReportOptions & { month: string }) => ledger(options));
  add('expiring', "the cashback that will expire in this month and the following ones, in each merchant's time zone")
    .option('--months <n>', 'the number of months', wholeNumber(1, 120), 12)
    .action((options: ReportOptions & { months: number }) => expiring(options));
  return report;
}

function outstanding({ merchant, format = usualFormat() }: ReportOptions): Promise<void> {
  return runWithServices(async (services) => {
    const { asOf, rows, sums } = await services.get(OutstandingService).report(merchant);
    const shown = rows.map(membersOf);
    if (format === 'table') shown.push({ merchant_id: 'sums', name: '', ...membersOf(sums) });
    printAs(format, shown);
    if (format === 'json') console.log(JSON.stringify({ as_of: asOf, merchants: rows.length, ...membersOf(sums) }));
  });
}

function membersOf({ expiringCents, ...others }: Outstanding): Row {
  return { ...toJson(others), expiring_in_30_days: formatMoney(expiringCents) };
}

function ledger({ month: of, merchant, format = usualFormat() }: ReportOptions & { month: string }): Promise<void> {
  return runWithServices(async (services) => {
    const rows = await services.get(LedgerService).report(of, merchant);
    const now = services.get(Clock).now(merchant);
    if (rows.some(({ timeZone }) => dayOf(now, timeZone) < `${of}-01`))
      console.error(`warning: ${of} has not begun: its opening and closing are what the customers own now`);
    printAs(
      format,
      rows.map(({ merchantId, name, timeZone, isClosed, ...amounts }) => ({
        merchant_id: merchantId,
        name,
        month: of,
        time_zone: timeZone,
        closed: isClosed,
        ...toJson(amounts),
      })),
    );
  });
}

function expiring({ months, merchant, format = usualFormat() }: ReportOptions & { months: number }): Promise<void> {
  return runWithServices(async (services) =>
    printAs(format, (await services.get(ExpiringService).report(months, merchant)).map(toJson)),
  );
}
