import { Command } from 'commander';
import { wholeNumber } from './arguments.js';
import { AuditService } from '../audit/audit.service.js';
import { runWithServices } from './services.js';

export function auditCommands(): Command {
  const audit = new Command('audit').description('the log of changes that operators made with this command line');
  audit
    .command('list')
    .description('list changes, latest first: who, when, which command, which IDs')
    .option('--limit <n>', 'maximum number of changes', wholeNumber(1, 10_000), 100)
    .action(({ limit }: { limit: number }) =>
      runWithServices(async (services) =>
        (await services.get(AuditService).list(limit)).map(({ startedAt, finishedAt, ...record }) => ({
          ...record,
          started_at: startedAt,
          finished_at: finishedAt,
        })),
      ),
    );
  return audit;
}
