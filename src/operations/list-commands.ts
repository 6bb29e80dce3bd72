import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { UserNames } from '../auth/user-names.service.js';
import { CreditListingService } from '../cashback/credit-listing.service.js';
import { CREDIT_COLUMNS } from '../cashback/credit.dto.js';
import { CustomersService } from '../cashback/customers.service.js';
import { GrantListingService } from '../cashback/grant-listing.service.js';
import { GRANT_COLUMNS } from '../cashback/grant.dto.js';
import { CUSTOMER_COLUMNS } from '../cashback/wallet.dto.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { OrderListingService } from '../orders/order-listing.service.js';
import { ORDER_COLUMNS } from '../orders/order-lists.dto.js';
import { REFUND_COLUMNS } from '../orders/refund.dto.js';
import { RefundsService } from '../orders/refunds.service.js';
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
  cursor?: string;
  created_from?: string;
  created_to?: string;
  expires_from?: string;
  expires_to?: string;
}

interface Page {
  data: readonly object[];
  next_cursor: string | null;
}

interface List {
  description: string;
  /** What `--from` and `--to` are about, if it has them. */
  period?: string;
  columns: readonly Column[];
  read: (services: INestApplicationContext, merchantId: string, wanted: Wanted) => Promise<Page>;
}

/** The lists of `GET /orders`, `/refunds`, `/grants`, `/customers` and `/credits`, whole. */
const LISTS: Record<string, List> = {
  orders: {
    description: 'orders, newest first',
    period: 'of creations',
    columns: ORDER_COLUMNS,
    read: (services, merchantId, wanted) => services.get(OrderListingService).list(merchantId, wanted),
  },
  refunds: {
    description: 'refunds, newest first',
    period: 'of creations',
    columns: REFUND_COLUMNS,
    read: (services, merchantId, wanted) => services.get(RefundsService).listAll(merchantId, wanted),
  },
  grants: {
    description: 'grants, newest first',
    period: 'of creations',
    columns: GRANT_COLUMNS,
    read: (services, merchantId, wanted) => services.get(GrantListingService).list(merchantId, wanted),
  },
  customers: {
    description: 'customers with a balance or a debt',
    columns: CUSTOMER_COLUMNS,
    read: (services, merchantId, { limit, cursor }) =>
      services.get(CustomersService).list(merchantId, { limit, ...(cursor !== undefined && { cursor }) }),
  },
  credits: {
    description: 'credits that are not spent, earliest expiry first',
    period: 'of `expires_on`',
    columns: CREDIT_COLUMNS,
    read: (services, merchantId, wanted) => services.get(CreditListingService).list(merchantId, wanted),
  },
};

const FORMATS_HELP = 'csv, csv-pt-BR for spreadsheets in Brazil, or json (one line per element, with all members)';

export function listCommands(): Command {
  const list = new Command('list').description("all of a merchant's orders, refunds, grants, customers or credits");
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
function print({ merchant, from, to, format }: ListOptions, { columns, read }: List): Promise<void> {
  return runWithServices(async (services) => {
    const { timeZone } = (await services.get(MerchantsService).get(merchant)).policy;
    const wanted: Wanted = {
      limit: 100,
      ...(from && { created_from: startOfDay(from, timeZone).toISOString(), expires_from: from }),
      ...(to && { created_to: startOfDay(to, timeZone).toISOString(), expires_to: to }),
    };
    const options = { locale: format === 'csv-pt-BR' ? ('pt-BR' as const) : undefined, timeZone };
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await read(services, merchant, { ...wanted, ...(cursor !== undefined && { cursor }) });
      const { data } = await services.get(UserNames).fillIn(page);
      const isContinued = cursor !== undefined;
      process.stdout.write(format === 'json' ? linesOf(data) : csvOf(columns, data, { ...options, isContinued }));
      cursor = page.next_cursor;
    }
  });
}

const linesOf = (elements: readonly object[]): string => elements.map((one) => `${JSON.stringify(one)}\n`).join('');
