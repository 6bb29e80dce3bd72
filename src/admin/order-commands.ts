import { Command, Option } from 'commander';
import { runWithServices } from './application.js';
import { externalId } from './arguments.js';
import { RecordsService } from './records.service.js';

interface ShowOptions {
  order?: string;
  merchant?: string;
  externalId?: string;
}

export function orderCommands(): Command {
  const order = new Command('order').description("customers' orders");
  order
    .command('show')
    .description('show an order with its policy, its latest refunds and its latest ledger entries, at most 100 of each')
    .option('--merchant <id>', 'the merchant')
    .option('--external-id <id>', "the merchant's own ID of the order", externalId)
    .addOption(
      new Option('--order <id>', 'the order, instead of merchant and external ID').conflicts([
        'merchant',
        'externalId',
      ]),
    )
    .action(({ order: id, merchant, externalId: ofMerchant }: ShowOptions) => {
      if (id !== undefined) return show({ id });
      if (merchant === undefined || ofMerchant === undefined)
        throw new Error("either '--order' or both '--merchant' and '--external-id' are required");
      return show({ merchantId: merchant, externalId: ofMerchant });
    });
  return order;
}

function show(name: Parameters<RecordsService['order']>[0]): Promise<void> {
  return runWithServices((services) => services.get(RecordsService).order(name));
}
