import { Command, CommanderError, Option } from 'commander';
import { text } from 'node:stream/consumers';
import { Problem } from '../platform/values/problem.js';
import { addMembers, exampleOf, faultOf, isOfAll, type Operation, readOperations, requestOf } from './commands.js';
import { importCommand, reconcileCommand } from './own-commands.js';
import { type Format, FORMATS, usualFormat } from './output.js';

/** The groups of commands in the order in which a shop needs them, each with what it is about and an example. */
const GROUPS: Record<string, Record<string, [says: string, example: string]>> = {
  'Set up a shop:': {
    merchants: ['merchants, and the rules that only the operator sets', 'merchants create --name "Loja da Ana"'],
    users: ['API users: people, tills and systems', 'users change caixa-3@loja.example --allow grants'],
    policy: ['rules of the cashback, and their history', 'policy change --earn-rate 0.07 --reason "Christmas"'],
    campaigns: ['other rules for some days', 'campaigns end "Black Friday"'],
    webhooks: ['endpoints that get events', 'webhooks list'],
  },
  'Sell:': {
    quotes: ['what an order would redeem and earn', 'quotes create --total 150.00 --document-stdin < document.txt'],
    orders: ['orders, from creation to completion', 'orders inspect PED-1001'],
    refunds: ['what comes back of completed orders', 'refunds void PED-1001 DEV-1 --reason "Wrong order"'],
  },
  'Care for customers:': {
    wallets: ['balances, credits and statements', 'wallets find --document-stdin < document.txt'],
    grants: ['cashback that no order earned', 'grants import --file credits.csv --dry-run'],
    debits: ['cashback that is taken by hand', 'debits void FIX-1'],
    customers: ['who has cashback; export and erasure', 'customers export --document-stdin < document.txt'],
    credits: ['what is not spent, by expiry', 'credits list --expires-to 2026-12-31 --format csv-pt-BR'],
  },
  'Close a month:': {
    reports: ['sums over all customers', 'reports ledger --from 2026-11-01 --to 2026-12-01 --by store'],
    entries: ['the ledger, entry by entry', 'entries list --created-from 2026-11-30T00:00:00-03:00'],
    reconcile: ['check the rules of the money over the whole database', 'reconcile'],
  },
  'Look into an incident:': {
    audit: ['what operators changed with this command line', 'audit list --limit 20'],
    events: ['the feed of changes', 'events list --last 20'],
    sessions: ['logins that ended long ago', 'sessions prune --ended-days 30'],
  },
};

/**
 * Runs the operator's command line: results on stdout, errors and notes on stderr. It sets the exit code, 1 for an
 * error, and does not exit the process.
 *
 * @param args the arguments, without the name of the program.
 */
export async function runAdmin(args: string[]): Promise<void> {
  try {
    await adminProgram().parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = 1;
    if (error instanceof CommanderError) process.exitCode = error.exitCode;
    else console.error(`error: ${describe(error)}`);
  }
}

/** @param operation whose options an error names. */
function describe(error: unknown, operation?: Operation): string {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof Problem) || operation === undefined) return message;
  const told = (error.errors ?? []).flatMap((fault) => faultOf(operation, fault) ?? []);
  return told.length === 0 ? message : `${message}: ${told.join('; ')}`;
}

export function adminProgram(): Command {
  const program = new Command('npm run admin --')
    .description('Operates the cashback order service, with the environment variables of the service.')
    .usage('<group> <command> [options]')
    .addHelpText('after', '\nAdd --help to a group or a command for its options and an example.');
  const operations = readOperations().sort((a, b) => Number(a.isOperators) - Number(b.isOperators));
  for (const [section, groups] of Object.entries(GROUPS))
    for (const [name, [says, example]] of Object.entries(groups)) {
      const group = name === 'reconcile' ? reconcileCommand() : new Command(name);
      group.summary(`${says}\n${example}`).helpGroup(section);
      if (name !== 'reconcile') group.description(`${says.charAt(0).toUpperCase()}${says.slice(1)}.`);
      group.addHelpText('after', `\nExample:\n  npm run admin -- ${example}`);
      for (const operation of operations) if (operation.name[0] === name) group.addCommand(newCommand(operation));
      if (name === 'grants') group.addCommand(importCommand());
      program.addCommand(group);
    }
  prepare(program);
  return program;
}

/** By default, Commander exits the process after an error and after help. */
function prepare(command: Command): void {
  command.exitOverride().helpCommand(false);
  command.commands.forEach(prepare);
}

function newCommand(operation: Operation): Command {
  // A suggestion could be another rule than the one that was meant.
  const command = new Command(operation.name[1]).summary(lowerFirst(operation.summary)).showSuggestionAfterError(false);
  command.description(`${operation.summary}. ${operation.description}`);
  if (operation.needsMerchant) command.option('--merchant <id>', merchantHelp(operation));
  addMembers(command, operation);
  if (operation.isIrreversible) command.option('--yes', 'do it: it cannot be undone');
  const formats = operation.isFile ? FORMATS : FORMATS.slice(0, 2);
  command
    .addOption(new Option('--format <format>', FORMAT_HELP).choices(formats))
    .addHelpText('after', `\nExample:\n  npm run admin -- ${exampleOf(operation)}`)
    .action(async (...given: unknown[]) => run(operation, command, given));
  return command;
}

const FORMAT_HELP = 'default: table on a terminal, otherwise json (of a list, one line per row)';

const merchantHelp = (operation: Operation): string =>
  operation.path.includes('{')
    ? 'the merchant, if several have something of this name'
    : `the merchant; default: ${isOfAll(operation) ? 'all' : 'the only one'}`;

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

async function run(operation: Operation, command: Command, given: readonly unknown[]): Promise<void> {
  const args = given.slice(0, command.registeredArguments.length) as string[];
  const options = command.opts<Record<string, string | true | undefined>>();
  const valueOf = (flag: string): string | true | undefined => {
    const option = command.options.find(({ long }) => long === flag);
    return option && options[option.attributeName()];
  };
  const stdin = command.options.find(({ long }) => long?.endsWith('-stdin') && valueOf(long) !== undefined)?.long;
  const read = stdin === undefined ? undefined : (await text(process.stdin)).trim();
  const textOf = (flag: string): string | undefined =>
    `${flag}-stdin` === stdin ? read : (valueOf(flag) as string | undefined);
  const request = { ...requestOf(operation, args, textOf), merchantId: textOf('--merchant') };
  if (operation.isIrreversible && valueOf('--yes') === undefined) throw new Error('this cannot be undone: add --yes');
  // `--help` needs none of this.
  const { runOperation } = await import('./run-operation.js');
  const format = (textOf('--format') as Format | undefined) ?? usualFormat();
  await runOperation(operation, { request, format }).catch((error: unknown) => {
    throw new Error(describe(error, operation), { cause: error });
  });
}
