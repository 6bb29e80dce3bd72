import { Command } from 'commander';
import { ErasureService } from '../orders/erasure.service.js';
import { type DocumentOptions, documentOf, withDocument } from './private-input.js';
import { runChange } from './services.js';

export function customerCommands(): Command {
  const customer = new Command('customer').description("merchants' customers");
  withDocument(
    customer
      .command('erase')
      .description(
        'erase a customer: replace the document with a pseudonym and keep the amounts in the ledger; cannot be undone',
      )
      .requiredOption('--merchant <id>', 'the merchant'),
  ).action(async (options: { merchant: string } & DocumentOptions) => {
    const document = await documentOf(options);
    await runChange('customer erase', { merchant_id: options.merchant }, async (services) => {
      const result = await services.get(ErasureService).erase(options.merchant, document);
      return { result, changed: result };
    });
  });
  return customer;
}
