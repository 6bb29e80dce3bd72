import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { WalletReadsService } from '../cashback/wallet-reads.service.js';
import { runChange, runWithServices } from './application.js';
import { documentOf, type DocumentOptions, externalId, withDocument } from './arguments.js';
import { limitOption, usualFormat } from './output.js';
import { PrivacyService } from './privacy.service.js';
import { type OrderName, RecordsService } from './records.service.js';

interface CustomerOptions extends DocumentOptions {
  merchant: string;
}

export function customerCommands(): Command {
  const customer = new Command('customer').description("merchants' customers");
  const add = (name: string, description: string): Command =>
    withDocument(customer.command(name).description(description).requiredOption('--merchant <id>', 'the merchant'));
  add(
    'erase',
    'erase a customer: replace the document with a pseudonym and keep the amounts in the ledger; cannot be undone',
  ).action(async ({ merchant, ...options }: CustomerOptions) => {
    const document = await documentOf(options);
    await runChange('customer erase', { merchant_id: merchant }, async (services) => {
      const result = await services.get(PrivacyService).erase(merchant, document);
      return { result, changed: result };
    });
  });
  add(
    'export',
    'print all that is stored about a customer: wallet, credits, grants, ledger, orders, refunds and events',
  ).action(async ({ merchant, ...options }: CustomerOptions) => {
    const document = await documentOf(options);
    await runWithServices((services) => services.get(PrivacyService).export(merchant, document));
  });
  return customer;
}

interface OrderOptions {
  limit: number;
  order?: string;
  merchant?: string;
  externalId?: string;
}

export function orderCommands(): Command {
  const order = new Command('order').description("customers' orders");
  order
    .command('show')
    .description('show an order with its policy, its latest refunds and its latest ledger entries')
    .addOption(limitOption())
    .option('--merchant <id>', 'the merchant')
    .option('--external-id <id>', "the merchant's own ID of the order", externalId)
    .addOption(
      new Option('--order <id>', 'the order, instead of merchant and external ID').conflicts([
        'merchant',
        'externalId',
      ]),
    )
    .action((options: OrderOptions) => {
      const name = orderNameOf(options);
      return show(options, (services) => services.get(RecordsService).order(name, options.limit));
    });
  return order;
}

function orderNameOf({ order: id, merchant, externalId: ofMerchant }: OrderOptions): OrderName {
  if (id !== undefined) return { id };
  if (merchant === undefined || ofMerchant === undefined)
    throw new Error("either '--order' or both '--merchant' and '--external-id' are required");
  return { merchantId: merchant, externalId: ofMerchant };
}

/** Shows a record with lists of at most `limit` rows. */
async function show(
  { limit }: { limit: number },
  read: (services: INestApplicationContext) => Promise<object>,
): Promise<void> {
  await runWithServices(read);
  if (usualFormat() === 'table')
    console.log(`\nat most ${limit} row${limit === 1 ? '' : 's'} of each list; for more, use --limit`);
}

interface WalletOptions extends DocumentOptions {
  limit: number;
  merchant?: string;
  wallet?: string;
}

export function walletCommands(): Command {
  const wallet = new Command('wallet').description("customers' wallets");
  withDocument(
    wallet
      .command('show')
      .description("show a customer's wallet, its open credits and its latest ledger entries")
      .addOption(limitOption())
      .option('--merchant <id>', 'the merchant')
      .addOption(
        new Option(
          '--wallet <id>',
          'the wallet, instead of merchant and document; also finds the wallet of an erased customer',
        ).conflicts(['merchant', 'document', 'documentStdin']),
      ),
  ).action(async ({ wallet: walletId, merchant, ...options }: WalletOptions) => {
    if (walletId === undefined && merchant === undefined)
      throw new Error("one of '--wallet' and '--merchant' is required");
    const of =
      walletId === undefined ? { merchantId: merchant ?? '', document: await documentOf(options) } : { walletId };
    await show(options, (services) => services.get(WalletReadsService).show(of, options.limit));
  });
  return wallet;
}
