import { Command } from 'commander';
import { SessionsService } from '../auth/sessions.service.js';
import { after, Clock, DAY_MS } from '../common/clock.js';
import { wholeNumber } from './arguments.js';
import { runChange } from './services.js';

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
