import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { basename } from 'node:path';
import { isAboveMaximum } from '../cashback/grant-content.js';
import { type GrantKey, GrantsService } from '../cashback/grants.service.js';
import { expiresOn as lastDay } from '../cashback/validity.js';
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
import { limitOption, printRows } from './output.js';
import { type UserWork, UserWorkService } from './user-work.service.js';

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

interface VoidOptions {
  merchant?: string;
  grant?: string;
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
    .action(({ user, ...options }: VoidOptions) =>
      user === undefined ? voidGrant(options) : voidOfUser(user, options),
    );
}

async function voidOfUser(user: string, { since, reason, yes, limit }: VoidOptions): Promise<void> {
  if (since === undefined) throw new Error("option '--since' is required with '--user'");
  const find = (services: INestApplicationContext, voiding?: { reason: string | null }): Promise<UserWork> =>
    services.get(UserWorkService).since(user, since, voiding, limit);
  if (yes === undefined) return runWithServices((services) => find(services));
  await runChange('cashback void', { user, since, ...(reason !== undefined && { reason }) }, async (services) => {
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

async function voidGrant({ merchant, grant: id, externalId: ofMerchant, reason }: VoidOptions): Promise<void> {
  if (merchant === undefined) throw new Error("one of '--merchant' and '--user' is required");
  const key = keyOf(id, ofMerchant);
  const details = {
    merchant_id: merchant,
    ...(ofMerchant !== undefined && { external_id: ofMerchant }),
    ...(reason !== undefined && { reason }),
  };
  await runChange('cashback void', details, async (services) => {
    const { grant, credit, remainingCents } = await services
      .get(GrantsService)
      .void(merchant, key, OPERATOR, reason ?? null);
    const voided = formatMoney(grant.voidedCents ?? 0);
    const result = {
      id: credit.id,
      wallet_id: credit.walletId,
      external_id: grant.externalId,
      amount: formatMoney(credit.amountCents),
      remaining: formatMoney(remainingCents),
      voided,
      voided_at: grant.voidedAt,
    };
    return { result, changed: { credit_id: credit.id, wallet_id: credit.walletId, voided } };
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
    const { timeZone } = policy;
    const result = {
      id: credit.id,
      wallet_id: credit.walletId,
      ...(given.externalId !== undefined && { external_id: given.externalId }),
      amount: formatMoney(credit.amountCents),
      available_at: credit.availableAt,
      expires_at: credit.expiresAt,
      available_on: dayOf(credit.availableAt, timeZone),
      expires_on: lastDay(credit.expiresAt, timeZone),
      reason: credit.reason,
      note: given.note ?? null,
      store: credit.store,
    };
    return { result, changed: { credit_id: credit.id, wallet_id: credit.walletId, replayed } };
  });
}
