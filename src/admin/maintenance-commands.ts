import { Command } from 'commander';
import { SessionsService } from '../auth/sessions.service.js';
import { after, Clock, DAY_MS } from '../common/clock.js';
import { ErasureService } from '../orders/erasure.service.js';
import { WebhookEndpointsService } from '../webhooks/webhook-endpoints.service.js';
import { runChange, runWithServices } from './application.js';
import { wholeNumber } from './arguments.js';
import { AuditService } from '../audit/audit.service.js';
import { type DocumentOptions, documentOf, withDocument } from './private-input.js';
import { RecordsService } from './records.service.js';
import { printRows } from './rows.js';
import { toJson } from './to-json.js';

/** Ended sessions are kept long enough to investigate a token theft, which may be noticed weeks later. */
const DEFAULT_DAYS = 30;

export function sessionCommands(): Command {
  const session = new Command('session').description("sessions of merchants' systems");
  session
    .command('prune')
    .description('delete sessions that ended long ago, with their token sets')
    .option(
      '--ended-days <n>',
      'delete sessions that expired, were revoked, or could no longer be refreshed at least this many days ago',
      wholeNumber(1, 3650),
      DEFAULT_DAYS,
    )
    .action(({ endedDays }: { endedDays: number }) =>
      runChange('session prune', { ended_days: endedDays }, async (services) => {
        const endedBefore = after(services.get(Clock).now(), -endedDays * DAY_MS);
        const result = await services.get(SessionsService).prune(endedBefore);
        return { result, changed: result };
      }),
    );
  return session;
}

interface CustomerOptions extends DocumentOptions {
  merchant: string;
}

export function customerCommands(): Command {
  const customer = new Command('customer').description("merchants' customers");
  const add = (name: string, description: string): Command =>
    withDocument(customer.command(name).description(description).requiredOption('--merchant <id>', 'the merchant'));
  add(
    'erase',
    'erase a customer: replace the document with a pseudonym and keep the amounts in the ledger; cannot be undone',
  ).action(async ({ merchant, ...options }: CustomerOptions) => {
    const document = await documentOf(options);
    await runChange('customer erase', { merchant_id: merchant }, async (services) => {
      const result = await services.get(ErasureService).erase(merchant, document);
      await services.get(WebhookEndpointsService).forgetAttempts(merchant);
      return { result, changed: result };
    });
  });
  add(
    'export',
    'print all that is stored about a customer: wallet, credits, grants, ledger, orders, refunds and events',
  ).action(async ({ merchant, ...options }: CustomerOptions) => {
    const document = await documentOf(options);
    await runWithServices((services) => services.get(RecordsService).customer(merchant, document));
  });
  return customer;
}

export function auditCommands(): Command {
  const audit = new Command('audit').description('the log of changes that operators made with this command line');
  audit
    .command('list')
    .description('list changes, latest first: who, when, which command, which IDs')
    .option('--limit <n>', 'maximum number of changes', wholeNumber(1, 10_000), 100)
    .action(({ limit }: { limit: number }) =>
      runWithServices(async (services) => printRows((await services.get(AuditService).list(limit)).map(toJson))),
    );
  return audit;
}
