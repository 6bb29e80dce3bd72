import { Command, Option } from 'commander';
import { formatMoney } from '../common/money.js';
import { type MerchantOutstanding, type Outstanding, OutstandingService } from './outstanding.service.js';
import { runWithServices } from './application.js';

interface OutstandingOptions {
  merchant?: string;
  format: 'json' | 'csv';
}

export function reportCommands(): Command {
  const report = new Command('report').description('reports for accounting');
  report
    .command('outstanding')
    .description(
      "what each merchant owes its customers now, from one consistent snapshot: available, pending and held cashback, the customers' debt, and what expires within 30 days",
    )
    .option('--merchant <id>', 'only this merchant')
    .addOption(
      new Option('--format <format>', 'json: one line per merchant, then one with the sums; csv: a table without sums')
        .choices(['json', 'csv'])
        .default('json'),
    )
    .action((options: OutstandingOptions) => outstanding(options));
  return report;
}

function outstanding({ merchant, format }: OutstandingOptions): Promise<void> {
  const isJson = format === 'json';
  return runWithServices(async (services) => {
    let rows = 0;
    const print = (row: MerchantOutstanding): void => {
      const members = { merchant_id: row.merchantId, name: row.name, ...membersOf(row) };
      if (!isJson && rows++ === 0) console.log(Object.keys(members).join(','));
      console.log(isJson ? JSON.stringify(members) : Object.values(members).map(csvField).join(','));
    };
    const { asOf, merchants, ...sums } = await services.get(OutstandingService).report(merchant, print);
    if (isJson) console.log(JSON.stringify({ as_of: asOf, merchants, ...membersOf(sums) }));
  });
}

function membersOf(row: Outstanding): Record<string, string | number> {
  return {
    wallets: row.wallets,
    available: formatMoney(row.availableCents),
    pending: formatMoney(row.pendingCents),
    held: formatMoney(row.heldCents),
    debt: formatMoney(row.debtCents),
    expiring_in_30_days: formatMoney(row.expiringCents),
  };
}

/** Formats a field (RFC 4180). */
function csvField(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
