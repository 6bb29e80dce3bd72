import { Argument, Command, Option } from 'commander';
import { type ApiUser, permissionsOf } from '../auth/api-user.entity.js';
import { ApiUsersService } from '../auth/api-users.service.js';
import { Passwords } from '../auth/passwords.js';
import { SessionsService } from '../auth/sessions.service.js';
import { OPTIONAL_PERMISSIONS, type OptionalPermission } from '../common/caller.js';
import { LoginCounts } from '../rate-limits/login-counts.js';
import { email, passwordOf, type PasswordOptions, withPassword } from './arguments.js';
import { runChange, runWithServices } from './application.js';
import { printRows, toJson as rowOf } from './rows.js';

interface CreateOptions extends PasswordOptions {
  merchant: string;
  email: string;
  allow?: OptionalPermission;
}

export function userCommands(): Command {
  const user = new Command('user').description("API users, with which merchants' systems log in");
  withPassword(
    user
      .command('create')
      .description('create an API user; if no password is given, a strong one is generated and printed once')
      .requiredOption('--merchant <id>', "the user's merchant")
      .requiredOption('--email <email>', "the user's email", email)
      .addOption(new Option('--allow <permission>', 'an additional permission').choices(OPTIONAL_PERMISSIONS)),
  ).action((options: CreateOptions) =>
    changeWithPassword(
      'user create',
      { merchant_id: options.merchant, email: options.email, ...(options.allow && { allow: options.allow }) },
      options,
      (users, password) => users.create(options.merchant, options.email, password, options.allow === 'grants'),
    ),
  );
  addPasswordChange(user);
  addSwitch(user, 'disable', 'disable an API user and revoke its sessions');
  addSwitch(user, 'enable', 'enable a disabled API user');
  addPermission(user, 'allow', 'give an API user a permission, from its next request on');
  addPermission(user, 'deny', 'withdraw a permission of an API user, from its next request on');
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
    .addArgument(new Argument('<permission>', 'the permission').choices(OPTIONAL_PERMISSIONS))
    .action((address: string, permission: OptionalPermission) =>
      runChange(`user ${name}`, { email: address, permission }, async (services) =>
        changeOf(await services.get(ApiUsersService).setMayGrant(address, name === 'allow')),
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
        const failures = (await services.get(LoginCounts).failuresOf(found.id)).map(({ kind, points, expire }) => {
          return { limit: kind, failures: points, until: new Date(expire) };
        });
        const last_login_at = sessions[0]?.createdAt ?? null;
        return { ...toJson(found), last_login_at, failed_logins: failures, sessions: sessions.map(rowOf) };
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
  const { id, merchantId, email: address, disabledAt, createdAt } = user;
  const permissions = permissionsOf(user);
  return { id, merchant_id: merchantId, email: address, permissions, disabled_at: disabledAt, created_at: createdAt };
}
