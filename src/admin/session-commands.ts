import { Command } from 'commander';
import { SessionsService } from '../auth/sessions.service.js';
import { after, Clock, DAY_MS } from '../common/clock.js';
import { wholeNumber } from './arguments.js';
import { runWithServices } from './services.js';

/** A theft is noticed within weeks, if at all. */
const DEFAULT_DAYS = 30;

export function sessionCommands(): Command {
  const session = new Command('session').description("log-ins of merchants' systems");
  session
    .command('prune')
    .description('delete the sessions that ended long ago, with their token sets')
    .option(
      '--ended-days <n>',
      'how many days ago they must have expired or been revoked',
      wholeNumber(1, 3650),
      DEFAULT_DAYS,
    )
    .action((options: { endedDays: number }) =>
      runWithServices((services) =>
        services.get(SessionsService).prune(after(services.get(Clock).now(), -options.endedDays * DAY_MS)),
      ),
    );
  return session;
}
