import { Command, Option } from 'commander';
import { UserNames } from '../auth/user-names.service.js';
import { CREDIT_COLUMNS } from '../cashback/credit.dto.js';
import { CREDITS } from '../cashback/credits.list.js';
import { CUSTOMERS } from '../cashback/customers.list.js';
import { DEBIT_COLUMNS } from '../cashback/debit.dto.js';
import { DEBITS } from '../cashback/debits.list.js';
import { ENTRY_COLUMNS } from '../cashback/entry.dto.js';
import { GRANT_COLUMNS } from '../cashback/grant.dto.js';
import { GRANTS } from '../cashback/grants.list.js';
import { CUSTOMER_COLUMNS } from '../cashback/wallet.dto.js';
import { LEDGER_ENTRIES } from '../cashback/wallet.list.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { ORDER_COLUMNS } from '../orders/order-lists.dto.js';
import { ORDERS } from '../orders/orders.list.js';
import { REFUND_COLUMNS } from '../orders/refund.dto.js';
import { REFUNDS } from '../orders/refunds.list.js';
import { LARGEST_PAGE } from '../platform/database/lists.js';
import { type ListOf, Reads, type Page } from '../platform/database/reads.js';
import { type Column, csvOf } from '../platform/http/csv.js';
import { startOfDay } from '../platform/values/time.js';
import { runWithServices } from './application.js';
import { day } from './arguments.js';

interface ListOptions {
  merchant: string;
  from?: string;
  to?: string;
  format: 'csv' | 'csv-pt-BR' | 'json';
}

/** What a list is asked for: days as they are, and as instants. */
interface Wanted {
  limit: number;
  created_from?: string;
  created_to?: string;
  expires_from?: string;
  expires_to?: string;
}

interface List {
  description: string;
  /** What `--from` and `--to` are about, if it has them. */
  period?: string;
  columns: readonly Column[];
  of: ListOf<Wanted, object>;
}

/** The lists of `GET /orders`, `/refunds`, `/grants`, `/debits`, `/entries`, `/customers` and `/credits`, whole. */
const LISTS: Record<string, List> = {
  orders: {
    description: 'orders, newest first',
    period: 'of creations',
    columns: ORDER_COLUMNS,
    of: ORDERS,
  },
  refunds: {
    description: 'refunds, newest first',
    period: 'of creations',
    columns: REFUND_COLUMNS,
    of: REFUNDS,
  },
  grants: {
    description: 'grants, newest first',
    period: 'of creations',
    columns: GRANT_COLUMNS,
    of: GRANTS,
  },
  debits: {
    description: 'debits, newest first',
    period: 'of creations',
    columns: DEBIT_COLUMNS,
    of: DEBITS,
  },
  entries: {
    description: 'ledger entries, newest first',
    period: 'of creations',
    columns: ENTRY_COLUMNS,
    of: LEDGER_ENTRIES,
  },
  customers: {
    description: 'customers with a balance or a debt',
    columns: CUSTOMER_COLUMNS,
    of: CUSTOMERS,
  },
  credits: {
    description: 'credits that are not spent, earliest expiry first',
    period: 'of `expires_on`',
    columns: CREDIT_COLUMNS,
    of: CREDITS,
  },
};

const FORMATS_HELP = 'csv, csv-pt-BR for spreadsheets in Brazil, or json (one line per element, with all members)';

export function listCommands(): Command {
  const list = new Command('list').description(
    "all of a merchant's orders, refunds, grants, entries, customers or credits",
  );
  for (const [name, of] of Object.entries(LISTS)) {
    const command = list
      .command(name)
      .description(of.description)
      .requiredOption('--merchant <id>', 'the merchant')
      .addOption(new Option('--format <format>', FORMATS_HELP).choices(['csv', 'csv-pt-BR', 'json']).default('csv'))
      .action((options: ListOptions) => print(options, of));
    if (of.period !== undefined)
      command
        .option('--from <day>', `the first day ${of.period}, such as 2026-11-01`, day)
        .option('--to <day>', 'the day after the last one, such as 2026-12-01', day);
  }
  return list;
}

/** Prints page by page, so that a long list needs no memory. */
function print({ merchant, from, to, format }: ListOptions, { columns, of }: List): Promise<void> {
  return runWithServices(async (services) => {
    const { timeZone } = (await services.get(MerchantsService).get(merchant)).policy;
    const wanted: Wanted = {
      limit: LARGEST_PAGE,
      ...(from && { created_from: startOfDay(from, timeZone).toISOString(), expires_from: from }),
      ...(to && { created_to: startOfDay(to, timeZone).toISOString(), expires_to: to }),
    };
    const options = { locale: format === 'csv-pt-BR' ? ('pt-BR' as const) : undefined, timeZone };
    let page: Page<object> | undefined = await services.get(Reads).page(merchant, wanted, of);
    for (let isContinued = false; page !== undefined; isContinued = true) {
      const { data } = await services.get(UserNames).fillIn(page);
      process.stdout.write(format === 'json' ? linesOf(data) : csvOf(columns, data, { ...options, isContinued }));
      page = await page.next();
    }
  });
}

const linesOf = (elements: readonly object[]): string => elements.map((one) => `${JSON.stringify(one)}\n`).join('');
