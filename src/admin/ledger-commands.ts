import { Command } from 'commander';
import { ReconcileService } from '../reconcile/reconcile.service.js';
import { StatementsService } from '../wallets/statements.service.js';
import { documentNumber } from './arguments.js';
import { runWithServices } from './services.js';

/** Looks into wallets and proves the invariants of the money. */
export function ledgerCommands(): Command[] {
  const wallet = new Command('wallet').description("customers' wallets");
  wallet
    .command('show')
    .description("a customer's wallet, its credits and the latest entries of its statement")
    .requiredOption('--merchant <id>', 'the merchant')
    .requiredOption('--document <digits>', "the customer's 11 digits", documentNumber)
    .action((options: { merchant: string; document: string }) =>
      runWithServices((services) => services.get(StatementsService).show(options.merchant, options.document)),
    );
  const reconcile = new Command('reconcile')
    .description('prove the invariants of the money over the whole database; exit code 1 and a list where one fails')
    .action(() =>
      runWithServices(async (services) => {
        const result = await services.get(ReconcileService).reconcile();
        if (result.discrepancies.length > 0) process.exitCode = 1;
        return result;
      }),
    );
  return [wallet, reconcile];
}
