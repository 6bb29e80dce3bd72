import { Command, CommanderError } from 'commander';
import { readId } from '../platform/values/ids.js';
import { Problem } from '../platform/values/problem.js';
import { cashbackCommands, customerCommands, orderCommands, walletCommands } from './customer-commands.js';
import { listCommands } from './list-commands.js';
import { merchantCommands } from './merchant-commands.js';
import { auditCommands, reconcileCommand, reportCommands } from './report-commands.js';
import { sessionCommands, userCommands, webhookCommands } from './system-commands.js';

/**
 * Runs the operator's command line: results on stdout, errors on stderr. It sets the exit code, 1 for an error, and
 * does not exit the process.
 *
 * @param args the arguments, without the name of the program.
 */
export async function runAdmin(args: string[]): Promise<void> {
  const program = adminProgram();
  prepare(program);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof CommanderError) process.exitCode = error.exitCode;
    else console.error(`error: ${describe(error)}`);
  }
}

/** The options and arguments that are an ID of what their name says. */
const IDS = ['merchant', 'order', 'wallet', 'grant', 'webhook-endpoint'];

/**
 * Prepares a command and its subcommands. IDs are checked here, so that no command forgets it: the database compares
 * only ASCII texts with them. By default, Commander exits the process after an error and after help.
 */
function prepare(command: Command): void {
  command.exitOverride();
  for (const given of [...command.options, ...command.registeredArguments]) {
    const unknown = `no ${given.name().replace('-', ' ')} has this ID`;
    if (IDS.includes(given.name())) given.argParser((text: string) => readId(text, unknown));
  }
  command.commands.forEach(prepare);
}

function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const faults = error instanceof Problem ? (error.errors ?? []) : [];
  return (
    message + faults.map(({ pointer, parameter, detail }) => ` ${parameter ?? pointer?.slice(1)} ${detail}`).join(';')
  );
}

export function adminProgram(): Command {
  return new Command('admin')
    .description('Operate the cashback order service. Reads the same environment variables as the service.')
    .addCommand(merchantCommands())
    .addCommand(userCommands())
    .addCommand(sessionCommands())
    .addCommand(cashbackCommands())
    .addCommand(customerCommands())
    .addCommand(orderCommands())
    .addCommand(listCommands())
    .addCommand(reportCommands())
    .addCommand(webhookCommands())
    .addCommand(auditCommands())
    .addCommand(walletCommands())
    .addCommand(reconcileCommand());
}
