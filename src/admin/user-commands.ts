import { Command } from 'commander';
import type { ApiUser } from '../auth/api-user.entity.js';
import { ApiUsersService } from '../auth/api-users.service.js';
import { Passwords } from '../auth/passwords.js';
import { email } from './arguments.js';
import { runWithServices } from './services.js';

export function userCommands(): Command {
  const user = new Command('user').description("API users: the log-ins of merchants' systems");
  user
    .command('create')
    .description('make an API user; without a password a strong one is made and printed once')
    .requiredOption('--merchant <id>', 'its merchant')
    .requiredOption('--email <email>', 'its e-mail', email)
    .option('--password <password>', '12 to 72 bytes')
    .action((options: { merchant: string; email: string; password?: string }) =>
      withPassword(options, (users, password) => users.create(options.merchant, options.email, password)),
    );
  user
    .command('set-password')
    .description(
      'give an API user another password and end its sessions; without one a strong one is made and printed once',
    )
    .requiredOption('--email <email>', 'its e-mail', email)
    .option('--password <password>', '12 to 72 bytes')
    .action((options: { email: string; password?: string }) =>
      withPassword(options, (users, password) => users.setPassword(options.email, password)),
    );
  for (const [name, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    user
      .command(name)
      .description(disabled ? 'refuse an API user from now on and end its sessions' : 'let an API user in again')
      .requiredOption('--email <email>', 'its e-mail', email)
      .action((options: { email: string }) =>
        runWithServices(async (services) => {
          const changed = await services.get(ApiUsersService).setDisabled(options.email, disabled);
          return toJson(changed);
        }),
      );
  }
  user
    .command('list')
    .description('all API users')
    .action(() => runWithServices(async (services) => (await services.get(ApiUsersService).list()).map(toJson)));
  return user;
}

function withPassword(
  options: { password?: string },
  change: (users: ApiUsersService, password: string) => Promise<ApiUser>,
): Promise<void> {
  return runWithServices(async (services) => {
    const password = options.password ?? Passwords.generate();
    const user = await change(services.get(ApiUsersService), password);
    return options.password === undefined ? { ...toJson(user), password } : toJson(user);
  });
}

function toJson({ id, merchantId, email: address, disabledAt, createdAt }: ApiUser): Record<string, unknown> {
  return { id, merchant_id: merchantId, email: address, disabled_at: disabledAt, created_at: createdAt };
}
