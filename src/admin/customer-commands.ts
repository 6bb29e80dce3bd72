import { Command } from 'commander';
import { ErasureService } from '../orders/erasure.service.js';
import { documentNumber } from './arguments.js';
import { runWithServices } from './services.js';

export function customerCommands(): Command {
  const customer = new Command('customer').description("merchants' customers");
  customer
    .command('erase')
    .description(
      "forget a person: their document gives way to a pseudonym, and the ledger's sums stay; it can't be undone",
    )
    .requiredOption('--merchant <id>', 'the merchant')
    .requiredOption('--document <digits>', "the customer's 11 digits", documentNumber)
    .action((options: { merchant: string; document: string }) =>
      runWithServices((services) => services.get(ErasureService).erase(options.merchant, options.document)),
    );
  return customer;
}
