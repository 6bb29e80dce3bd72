import 'reflect-metadata';
import { Command } from 'commander';
import { cashbackCommands } from './admin/cashback-commands.js';
import { customerCommands } from './admin/customer-commands.js';
import { ledgerCommands } from './admin/ledger-commands.js';
import { merchantCommands } from './admin/merchant-commands.js';
import { sessionCommands } from './admin/session-commands.js';
import { userCommands } from './admin/user-commands.js';
import { Problem } from './common/problem.js';

/** The operator's command line: JSON on stdout; errors on stderr, with exit code 1. */
const program = new Command('admin')
  .description('Operate the cashback order service. It reads the same environment as the service.')
  .addCommand(merchantCommands())
  .addCommand(userCommands())
  .addCommand(sessionCommands())
  .addCommand(cashbackCommands())
  .addCommand(customerCommands());
for (const command of ledgerCommands()) program.addCommand(command);

program.parseAsync().catch((error: unknown) => {
  const faults =
    error instanceof Problem
      ? (error.errors ?? []).map(({ pointer, detail }) => ` ${pointer?.slice(1)} ${detail}`)
      : [];
  console.error(`error: ${error instanceof Error ? error.message : String(error)}${faults.join(';')}`);
  process.exitCode = 1;
});
