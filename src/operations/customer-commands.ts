import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { basename } from 'node:path';
import { isAboveMaximum } from '../cashback/grant-content.js';
import { type GrantKey, GrantsService } from '../cashback/grants.service.js';
import { expiresOn as lastDay } from '../cashback/validity.js';
import { WalletReadsService } from '../cashback/wallet-reads.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { OPERATOR } from '../platform/values/caller.js';
import { formatMoney } from '../platform/values/money.js';
import { dayOf } from '../platform/values/time.js';
import { runChange, runWithServices } from './application.js';
import {
  day,
  documentOf,
  type DocumentOptions,
  externalId,
  instant,
  noteText,
  positiveMoney,
  reasonText,
  withDocument,
} from './arguments.js';
import { type ImportSummary } from './credit-import.js';
import { limitOption, printRows, type Row, toJson, usualFormat } from './output.js';
import { PrivacyService } from './privacy.service.js';
import { type OrderName, RecordsService } from './records.service.js';

interface GrantOptions extends DocumentOptions {
  merchant: string;
  externalId?: string;
  amount: number;
  availableOn?: string;
  expiresOn?: string;
  reason?: string;
  note?: string;
  store?: string;
}

/** What a record is found by, and what is done with it. */
interface RecordOptions extends DocumentOptions {
  merchant?: string;
  grant?: string;
  order?: string;
  wallet?: string;
  externalId?: string;
  user?: string;
  since?: Date;
  reason?: string;
  yes?: true;
  limit: number;
}

export function cashbackCommands(): Command {
  const cashback = new Command('cashback').description("customers' cashback");
  withDocument(
    cashback
      .command('grant')
      .description('grant cashback to a customer')
      .requiredOption('--merchant <id>', 'the merchant with which it can be spent')
      .requiredOption('--amount <amount>', 'the amount, such as 80.00', positiveMoney)
      .option('--external-id <id>', 'your own ID of this grant; makes the command safe to repeat', externalId)
      .option(
        '--available-on <day>',
        "first day on which it can be spent, in the merchant's time zone; default: now",
        day,
      )
      .option(
        '--expires-on <day>',
        "last day on which it can be spent; default: according to the merchant's policy",
        day,
      )
      .option('--reason <text>', 'the reason, which customers see', reasonText)
      .option('--note <text>', 'a note for staff', noteText)
      .option('--store <store>', 'the store that grants it', externalId),
  ).action(async (options: GrantOptions) => grant(options, await documentOf(options)));
  addVoid(cashback);
  addImport(cashback);
  return cashback;
}

function addVoid(cashback: Command): void {
  cashback
    .command('void')
    .description(
      'take back the unspent, unheld amount of a grant, such as one that was made by mistake; or of all grants of an API user from an instant on',
    )
    .option('--merchant <id>', 'the merchant of the grant')
    .addOption(new Option('--grant <id>', 'the grant').conflicts('user'))
    .addOption(
      new Option('--external-id <id>', 'the grant, by the external ID that it was given')
        .argParser(externalId)
        .conflicts(['grant', 'user']),
    )
    .addOption(
      new Option(
        '--user <user>',
        'the ID or the email of an API user: shows its grants and the orders that it completed; with --yes, voids the grants',
      ).conflicts('merchant'),
    )
    .option('--since <instant>', 'with --user: from when on, such as 2026-11-20T14:30:00-03:00', instant)
    .option('--yes', 'with --user: voids the grants')
    .option('--reason <text>', 'the reason, for your records', reasonText)
    .addOption(limitOption())
    .action(({ user, ...options }: RecordOptions) =>
      user === undefined ? voidGrant(options) : voidOfUser(user, options),
    );
}

async function voidOfUser(user: string, { since, reason, yes, limit }: RecordOptions): Promise<void> {
  if (since === undefined) throw new Error("option '--since' is required with '--user'");
  const find = (services: INestApplicationContext, voiding?: { reason: string | null }): Promise<Row> =>
    services.get(RecordsService).workOf(user, since, voiding, limit);
  if (yes === undefined) return runWithServices((services) => find(services));
  await runChange('cashback void', { user, since, reason }, async (services) => {
    const result = await find(services, { reason: reason ?? null });
    const { user_id: api_user_id, merchant_id, grant_count: grants, voided } = result;
    return { result, changed: { api_user_id, merchant_id, grants, voided } };
  });
}

function addImport(cashback: Command): void {
  cashback
    .command('import')
    .description(
      'grant the credits of a CSV file: one JSON line per bad line, then one with the counts; exit code 1 if there are bad lines. Run it again after an interruption or with corrected lines: existing grants stay as they are',
    )
    .requiredOption('--merchant <id>', 'the merchant with which they can be spent')
    .requiredOption(
      '--file <path>',
      'a CSV file whose first line names the columns document,amount,external_id and, if you need them, available_on,expires_on,reason,note,store,metadata.<key>',
    )
    .option('--dry-run', 'write nothing: check all lines, and print what would be granted')
    .action(({ merchant, file, dryRun = false }: { merchant: string; file: string; dryRun?: boolean }) =>
      importFile(merchant, file, dryRun),
    );
}

function importFile(merchantId: string, file: string, isDryRun: boolean): Promise<void> {
  const read = async (services: INestApplicationContext): Promise<ImportSummary> => {
    // Only this command needs the rules of the HTTP API. Loading them takes a quarter of the time of a short command.
    const { importCredits } = await import('./credit-import.js');
    const { summary, grantedCents } = await importCredits(services, { merchantId, file, isDryRun });
    const { lines, granted, existing, bad } = summary;
    const wouldGrant = { would_grant: granted, would_grant_amount: formatMoney(grantedCents) };
    printRows([isDryRun ? { lines, ...wouldGrant, existing, bad } : { ...summary }]);
    if (bad > 0) process.exitCode = 1;
    return summary;
  };
  if (isDryRun) return runWithServices(async (services) => void (await read(services)));
  const details = { merchant_id: merchantId, file: basename(file) };
  return runChange('cashback import', details, async (services) => ({
    result: undefined,
    changed: { ...(await read(services)) },
  }));
}

async function voidGrant({ merchant, grant: id, externalId: ofMerchant, reason }: RecordOptions): Promise<void> {
  if (merchant === undefined) throw new Error("one of '--merchant' and '--user' is required");
  const key = keyOf(id, ofMerchant);
  await runChange('cashback void', { merchant_id: merchant, external_id: ofMerchant, reason }, async (services) => {
    const { grant, credit, remainingCents } = await services
      .get(GrantsService)
      .void(merchant, key, OPERATOR, reason ?? null);
    const { id, walletId, amountCents } = credit;
    const { externalId, voidedCents, voidedAt } = grant;
    const amounts = { amountCents, remainingCents, voidedCents: voidedCents ?? 0 };
    const result = toJson({ id, walletId, externalId, ...amounts, voidedAt });
    return { result, changed: { credit_id: id, wallet_id: walletId, voided: result.voided } };
  });
}

function keyOf(creditId: string | undefined, externalId: string | undefined): GrantKey {
  if (creditId !== undefined) return { creditId };
  if (externalId !== undefined) return { externalId };
  throw new Error("one of '--grant' and '--external-id' is required");
}

function grant({ merchant, amount, documentStdin: _, ...given }: GrantOptions, document: string): Promise<void> {
  const content = { ...given, document, amountCents: amount };
  const details = { merchant_id: merchant, amount: formatMoney(amount) };
  return runChange('cashback grant', details, async (services) => {
    const { credit, replayed } = await services.get(GrantsService).grant(merchant, content);
    const policy = await services.get(MerchantsService).policyOf(merchant);
    if (!replayed && isAboveMaximum(content, policy))
      console.error(`warning: the grant is above the merchant's maximum of ${formatMoney(policy.grantMaximumCents)}`);
    const { id, walletId, amountCents, availableAt, expiresAt, reason, store } = credit;
    const { externalId, note = null } = given;
    const availableOn = dayOf(availableAt, policy.timeZone);
    const expiresOn = lastDay(expiresAt, policy.timeZone);
    const result = toJson({
      ...{ id, walletId, ...(externalId !== undefined && { externalId }), amountCents },
      ...{ availableAt, expiresAt, availableOn, expiresOn, reason, note, store },
    });
    return { result, changed: { credit_id: id, wallet_id: walletId, replayed } };
  });
}

export function customerCommands(): Command {
  const customer = new Command('customer').description("merchants' customers");
  const add = (name: string, description: string): Command =>
    withDocument(customer.command(name).description(description).requiredOption('--merchant <id>', 'the merchant'));
  add(
    'erase',
    'erase a customer: replace the document with a pseudonym and keep the amounts in the ledger; cannot be undone',
  ).action(async ({ merchant, ...options }: GrantOptions) => {
    const document = await documentOf(options);
    await runChange('customer erase', { merchant_id: merchant }, async (services) => {
      const result = await services.get(PrivacyService).erase(merchant, document);
      return { result, changed: result };
    });
  });
  add(
    'export',
    'print all that is stored about a customer: wallet, credits, grants, ledger, orders, refunds and events',
  ).action(async ({ merchant, ...options }: GrantOptions) => {
    const document = await documentOf(options);
    await runWithServices((services) => services.get(PrivacyService).export(merchant, document));
  });
  return customer;
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
    .action((options: RecordOptions) => {
      const name = orderNameOf(options);
      return show(options, (services) => services.get(RecordsService).order(name, options.limit));
    });
  return order;
}

function orderNameOf({ order: id, merchant, externalId: ofMerchant }: RecordOptions): OrderName {
  if (id !== undefined) return { id };
  if (merchant === undefined || ofMerchant === undefined)
    throw new Error("either '--order' or both '--merchant' and '--external-id' are required");
  return { merchantId: merchant, externalId: ofMerchant };
}

/** Shows a record with lists of at most `limit` rows. */
async function show(
  { limit }: RecordOptions,
  read: (services: INestApplicationContext) => Promise<object>,
): Promise<void> {
  await runWithServices(read);
  if (usualFormat() === 'table')
    console.log(`\nat most ${limit} row${limit === 1 ? '' : 's'} of each list; for more, use --limit`);
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
  ).action(async ({ wallet: walletId, merchant, ...options }: RecordOptions) => {
    if (walletId === undefined && merchant === undefined)
      throw new Error("one of '--wallet' and '--merchant' is required");
    const of =
      walletId === undefined ? { merchantId: merchant ?? '', document: await documentOf(options) } : { walletId };
    await show(options, (services) => services.get(WalletReadsService).show(of, options.limit));
  });
  return wallet;
}
