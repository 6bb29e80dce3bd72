import type { INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { ReconcileService } from '../reconcile/reconcile.service.js';
import { StatementsService } from '../wallets/statements.service.js';
import { type DocumentOptions, documentOf, withDocument } from './private-input.js';
import { runWithServices } from './services.js';

interface ShowOptions extends DocumentOptions {
  merchant?: string;
  wallet?: string;
}

/** Commands that show wallets and check the rules of the money. */
export function ledgerCommands(): Command[] {
  const wallet = new Command('wallet').description("customers' wallets");
  withDocument(
    wallet
      .command('show')
      .description("show a customer's wallet, its open credits and its latest ledger entries, at most 100 of each")
      .option('--merchant <id>', 'the merchant')
      .addOption(
        new Option(
          '--wallet <id>',
          'the wallet, instead of merchant and document; also finds the wallet of an erased customer',
        ).conflicts(['merchant', 'document', 'documentStdin']),
      ),
  ).action(async ({ wallet: walletId, merchant, ...options }: ShowOptions) => {
    if (walletId === undefined && merchant === undefined)
      throw new Error("one of '--wallet' and '--merchant' is required");
    const of =
      walletId === undefined ? { merchantId: merchant ?? '', document: await documentOf(options) } : { walletId };
    await runWithServices((services) => services.get(StatementsService).show(of));
  });
  const command = new Command('reconcile')
    .description(
      'check the rules of the money over the whole database: one JSON line per finding, then one with the counts; exit code 1 if there are findings',
    )
    .action(() => runWithServices(reconcile));
  return [wallet, command];
}

const PROGRESS_INTERVAL_MS = 5000;

/** Prints each finding immediately. Progress and warnings go to stderr. */
async function reconcile(services: INestApplicationContext): Promise<void> {
  let reportedAt = Date.now();
  const result = await services.get(ReconcileService).reconcile({
    onFinding: (finding) => console.log(JSON.stringify(finding)),
    onProgress: ({ wallets, orders }) => {
      if (Date.now() - reportedAt < PROGRESS_INTERVAL_MS) return;
      reportedAt = Date.now();
      console.error(`checked ${wallets} wallets and ${orders} orders`);
    },
  });
  for (const warning of result.warnings) console.error(`warning: ${warning}`);
  if (result.findings > 0) process.exitCode = 1;
  console.log(JSON.stringify(result));
}
