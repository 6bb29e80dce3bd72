import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { CreditListingService } from '../cashback/credit-listing.service.js';
import { CustomersService } from '../cashback/customers.service.js';
import { GrantListingService } from '../cashback/grant-listing.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { OrderListingService } from '../orders/order-listing.service.js';
import { RefundsService } from '../orders/refunds.service.js';
import { localTime, startOfDay } from '../platform/values/time.js';
import { type Column, csvOf } from '../reports/csv.js';
import { runWithServices } from './application.js';
import { day } from './arguments.js';
import { type Row } from './output.js';

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
  /** Members of an element, or of a part of it, in groups. */
  columns: readonly (readonly Column[])[];
  read: (services: INestApplicationContext, merchantId: string, wanted: Wanted) => Promise<Page>;
}

const WHO = 'created_by.name';

/** The lists of `GET /orders`, `/refunds`, `/grants`, `/customers` and `/credits`, whole. */
const LISTS: Record<string, List> = {
  orders: {
    description: 'orders, newest first',
    period: 'of creations',
    columns: [
      ['external_id', 'created_at', WHO, 'store', 'document', 'status', 'total', 'eligible_total', 'amount_to_pay'],
      ['cashback.to_redeem.redeemed', 'cashback.to_redeem.returned', 'cashback.to_receive.amount'],
      ['cashback.to_receive.taken_back', 'cashback.to_receive.available_on', 'cashback.to_receive.expires_on'],
      ['refunded.amount', 'completed_at', 'completed_by.name', 'cancelled_at', 'cancelled_by.name', 'cancel_reason'],
      ['customer_changed_at', 'customer_changed_by.name', 'customer_change_reason', 'metadata', 'id'],
    ],
    read: (services, merchantId, wanted) => services.get(OrderListingService).list(merchantId, wanted),
  },
  refunds: {
    description: 'refunds, newest first',
    period: 'of creations',
    columns: [
      ['external_id', 'created_at', WHO, 'store', 'amount', 'eligible_amount', 'amount_to_pay_back'],
      ['cashback_returned', 'cashback_taken_back', 'reason', 'metadata', 'order_external_id', 'order_id', 'id'],
    ],
    read: (services, merchantId, wanted) => services.get(RefundsService).listAll(merchantId, wanted),
  },
  grants: {
    description: 'grants, newest first',
    period: 'of creations',
    columns: [
      ['external_id', 'created_at', WHO, 'store', 'document', 'amount', 'remaining', 'voided', 'available_on'],
      ['expires_on', 'reason', 'note', 'voided_at', 'voided_by.name', 'void_reason', 'metadata', 'id'],
    ],
    read: (services, merchantId, wanted) => services.get(GrantListingService).list(merchantId, wanted),
  },
  customers: {
    description: 'customers with a balance or a debt',
    columns: [
      ['document', 'available', 'pending', 'held', 'debt', 'next_expiry.amount', 'next_expiry.expires_on'],
      ['last_order_at', 'wallet_id'],
    ],
    read: (services, merchantId, { limit, cursor }) =>
      services.get(CustomersService).list(merchantId, { limit, ...(cursor !== undefined && { cursor }) }),
  },
  credits: {
    description: 'credits that are not spent, earliest expiry first',
    period: 'of `expires_on`',
    columns: [
      ['document', 'expires_on', 'available_on', 'amount', 'remaining', 'held', 'store', 'source.type'],
      ['source.external_id', 'source.reason', 'id'],
    ],
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
function print({ merchant, from, to, format }: ListOptions, { columns: groups, read }: List): Promise<void> {
  const columns = groups.flat();
  return runWithServices(async (services) => {
    const { timeZone } = (await services.get(MerchantsService).get(merchant)).policy;
    const wanted: Wanted = {
      limit: 100,
      ...(from && { created_from: startOfDay(from, timeZone).toISOString(), expires_from: from }),
      ...(to && { created_to: startOfDay(to, timeZone).toISOString(), expires_to: to }),
    };
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await read(services, merchant, { ...wanted, ...(cursor !== undefined && { cursor }) });
      const rows = format === 'json' ? [] : page.data.map((element) => rowOf(element, columns, timeZone));
      const locale = format === 'csv-pt-BR' ? 'pt-BR' : undefined;
      process.stdout.write(format === 'json' ? linesOf(page.data) : csvOf(columns, rows, locale, cursor !== undefined));
      cursor = page.next_cursor;
    }
  });
}

const linesOf = (elements: readonly object[]): string => elements.map((one) => `${JSON.stringify(one)}\n`).join('');

const rowOf = (element: object, columns: readonly string[], timeZone: string): Row =>
  Object.fromEntries(columns.map((column) => [column, valueAt(element, column, timeZone)]));

/** Without an offset, a spreadsheet takes an instant for one. */
function valueAt(element: object, column: string, timeZone: string): unknown {
  const parts = column.split('.');
  const value = parts.reduce<unknown>((part, name) => (part as Row | null)?.[name] ?? null, element);
  if (value instanceof Date) return localTime(value, timeZone).slice(0, 19);
  if (column !== 'metadata') return value;
  return Object.keys(value as Row).length === 0 ? null : JSON.stringify(value);
}
