import { Command } from 'commander';
import type { ApiUser } from '../auth/api-user.entity.js';
import { ApiUsersService } from '../auth/api-users.service.js';
import { Passwords } from '../auth/passwords.js';
import { email } from './arguments.js';
import { passwordOf, type PasswordOptions, withPassword } from './private-input.js';
import { runChange, runWithServices } from './application.js';
import { printRows } from './rows.js';

export function userCommands(): Command {
  const user = new Command('user').description("API users, with which merchants' systems log in");
  withPassword(
    user
      .command('create')
      .description('create an API user; if no password is given, a strong one is generated and printed once')
      .requiredOption('--merchant <id>', "the user's merchant")
      .requiredOption('--email <email>', "the user's email", email),
  ).action((options: { merchant: string; email: string } & PasswordOptions) =>
    changeWithPassword(
      'user create',
      { merchant_id: options.merchant, email: options.email },
      options,
      (users, password) => users.create(options.merchant, options.email, password),
    ),
  );
  withPassword(
    user
      .command('set-password')
      .description(
        'change the password of an API user and revoke its sessions; if no password is given, a strong one is generated and printed once',
      )
      .requiredOption('--email <email>', "the user's email", email),
  ).action((options: { email: string } & PasswordOptions) =>
    changeWithPassword('user set-password', { email: options.email }, options, (users, password) =>
      users.setPassword(options.email, password),
    ),
  );
  addSwitch(user, 'disable', 'disable an API user and revoke its sessions');
  addSwitch(user, 'enable', 'enable a disabled API user');
  user
    .command('list')
    .description('list all API users')
    .action(() =>
      runWithServices(async (services) => printRows((await services.get(ApiUsersService).list()).map(toJson))),
    );
  return user;
}

function addSwitch(user: Command, name: 'disable' | 'enable', description: string): void {
  user
    .command(name)
    .description(description)
    .requiredOption('--email <email>', "the user's email", email)
    .action((options: { email: string }) =>
      runChange(`user ${name}`, { email: options.email }, async (services) => {
        const changed = await services.get(ApiUsersService).setDisabled(options.email, name === 'disable');
        return { result: toJson(changed), changed: idsOf(changed) };
      }),
    );
}

async function changeWithPassword(
  command: string,
  details: Record<string, unknown>,
  options: PasswordOptions,
  change: (users: ApiUsersService, password: string) => Promise<ApiUser>,
): Promise<void> {
  const given = await passwordOf(options);
  const password = given ?? Passwords.generate();
  await runChange(command, details, async (services) => {
    const user = await change(services.get(ApiUsersService), password);
    return { result: given === undefined ? { ...toJson(user), password } : toJson(user), changed: idsOf(user) };
  });
}

function idsOf({ id, merchantId }: ApiUser): Record<string, unknown> {
  return { api_user_id: id, merchant_id: merchantId };
}

function toJson({ id, merchantId, email: address, disabledAt, createdAt }: ApiUser): Record<string, unknown> {
  return { id, merchant_id: merchantId, email: address, disabled_at: disabledAt, created_at: createdAt };
}
