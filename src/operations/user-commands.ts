import { Command } from 'commander';
import { type ApiUser } from '../auth/api-user.entity.js';
import { ApiUsersService } from '../auth/api-users.service.js';
import { LoginCounts } from '../auth/login-limit.js';
import { Passwords } from '../auth/passwords.js';
import { SessionsService } from '../auth/sessions.service.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { DEFAULT_PERMISSIONS, type Permission, PERMISSIONS } from '../platform/values/caller.js';
import { runChange, runWithServices } from './application.js';
import { email, passwordOf, type PasswordOptions, permissions, userName, withPassword } from './arguments.js';
import { printRows, toJson as rowOf } from './output.js';

interface CreateOptions extends PasswordOptions {
  merchant: string;
  name: string;
  email: string;
  allow: Permission[];
}

const PERMISSION_LIST = `all, or some of ${PERMISSIONS.join(',')}`;

export function userCommands(): Command {
  const user = new Command('user').description("API users, with which merchants' systems log in");
  withPassword(
    user
      .command('create')
      .description('create an API user; if no password is given, a strong one is generated and printed once')
      .requiredOption('--merchant <id>', "the user's merchant")
      .requiredOption('--name <name>', 'what staff call it, such as "Caixa 3"', userName)
      .requiredOption('--email <email>', "the user's email", email)
      .option('--allow <permissions>', `what it may do: ${PERMISSION_LIST}`, permissions, [...DEFAULT_PERMISSIONS]),
  ).action(({ merchant: merchantId, name, email: address, allow, ...password }: CreateOptions) =>
    changeWithPassword('user create', { merchant_id: merchantId, email: address, allow }, password, (users, secret) =>
      users.create({ merchantId, name, email: address, permissions: allow }, secret),
    ),
  );
  user
    .command('rename')
    .description('change the name of an API user')
    .argument('<email>', "the user's email", email)
    .argument('<name>', 'the new name', userName)
    .action((address: string, name: string) =>
      runChange('user rename', { email: address, name }, async (services) =>
        changeOf(await services.get(ApiUsersService).setName(address, name)),
      ),
    );
  addPasswordChange(user);
  addSwitch(user, 'disable', 'disable an API user and revoke its sessions');
  addSwitch(user, 'enable', 'enable a disabled API user');
  addPermission(user, 'allow', 'give an API user permissions, from its next request on');
  addPermission(user, 'deny', 'withdraw permissions of an API user, from its next request on');
  addLockouts(user);
  user
    .command('list')
    .description('list all API users')
    .action(() =>
      runWithServices(async (services) => printRows((await services.get(ApiUsersService).list()).map(toJson))),
    );
  return user;
}

function addPasswordChange(user: Command): void {
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
}

function addSwitch(user: Command, name: 'disable' | 'enable', description: string): void {
  user
    .command(name)
    .description(description)
    .requiredOption('--email <email>', "the user's email", email)
    .action((options: { email: string }) =>
      runChange(`user ${name}`, { email: options.email }, async (services) =>
        changeOf(await services.get(ApiUsersService).setDisabled(options.email, name === 'disable')),
      ),
    );
}

function addPermission(user: Command, name: 'allow' | 'deny', description: string): void {
  user
    .command(name)
    .description(description)
    .argument('<email>', "the user's email", email)
    .argument('<permissions>', PERMISSION_LIST, permissions)
    .action((address: string, given: Permission[]) =>
      runChange(`user ${name}`, { email: address, permissions: given }, async (services) =>
        changeOf(
          await services
            .get(ApiUsersService)
            .setPermissions(address, (before) =>
              PERMISSIONS.filter((one) => (given.includes(one) ? name === 'allow' : before.includes(one))),
            ),
        ),
      ),
    );
}

function addLockouts(user: Command): void {
  const add = (name: string, description: string): Command =>
    user.command(name).description(description).requiredOption('--email <email>', "the user's email", email);
  add('show', 'show an API user with its latest sessions and the failed logins that count against it').action(
    (options: { email: string }) =>
      runWithServices(async (services) => {
        const found = await services.get(ApiUsersService).get(options.email);
        const sessions = await services.get(SessionsService).latestOf(found.id);
        const counts = await services
          .get(UnitOfWork)
          .statement((manager) => services.get(LoginCounts).failuresOf(manager, [found.id]));
        const failures = counts.map(({ kind, points, expire }) => {
          return { limit: kind, failures: points, until: new Date(expire) };
        });
        return { ...toJson(found), failed_logins: failures, sessions: sessions.map(rowOf) };
      }),
  );
  add('unlock', 'forget the failed logins of an API user, so that it can log in again').action(
    (options: { email: string }) =>
      runChange('user unlock', { email: options.email }, async (services) => {
        const found = await services.get(ApiUsersService).get(options.email);
        await services.get(LoginCounts).forgetFailuresOf(found.id);
        return changeOf(found);
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
  await runChange(command, details, async (services) =>
    changeOf(await change(services.get(ApiUsersService), password), given === undefined ? { password } : {}),
  );
}

/** @param shown what is only shown once, and not recorded. */
function changeOf(user: ApiUser, shown = {}): { result: unknown; changed: Record<string, unknown> } {
  return { result: { ...toJson(user), ...shown }, changed: { api_user_id: user.id, merchant_id: user.merchantId } };
}

function toJson(user: ApiUser): Record<string, unknown> {
  const { passwordHash: _, permissions: allowed, ...shown } = user;
  return { ...rowOf(shown), permissions: allowed };
}
