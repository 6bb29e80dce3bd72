import { type INestApplicationContext } from '@nestjs/common';
import { Command, Option } from 'commander';
import { type ApiUser } from '../auth/api-user.entity.js';
import { ApiUsersService } from '../auth/api-users.service.js';
import { LoginCounts } from '../auth/login-limit.js';
import { Passwords } from '../auth/passwords.js';
import { SessionsService } from '../auth/sessions.service.js';
import { WebhookEndpointsService } from '../events/webhook-endpoints.service.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { DEFAULT_PERMISSIONS, type Permission, PERMISSIONS } from '../platform/values/caller.js';
import { FEED_EVENT_TYPES, type FeedEventType } from '../platform/values/domain-event.js';
import { after, Clock, DAY_MS } from '../platform/values/time.js';
import { runChange, runWithServices } from './application.js';
import {
  email,
  instant,
  passwordOf,
  type PasswordOptions,
  permissions,
  userName,
  wholeNumber,
  withPassword,
} from './arguments.js';
import { printRows, type Row, toJson } from './output.js';

/** Commands for the systems of merchants: their API users, sessions and webhook endpoints. */

interface UserOptions extends PasswordOptions {
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
  ).action(({ merchant: merchantId, name, email: address, allow, ...password }: UserOptions) =>
    changeWithPassword('create', { merchant_id: merchantId, email: address, allow }, password, (users, secret) =>
      users.create({ merchantId, name, email: address, permissions: allow }, secret),
    ),
  );
  user
    .command('rename')
    .description('change the name of an API user')
    .argument('<email>', "the user's email", email)
    .argument('<name>', 'the new name', userName)
    .action((address: string, name: string) =>
      changeUser('rename', { email: address, name }, (users) => users.setName(address, name)),
    );
  const of = (name: string, description: string): Command =>
    user.command(name).description(description).requiredOption('--email <email>', "the user's email", email);
  addLogins(of);
  addPermission(user, 'allow', 'give an API user permissions, from its next request on');
  addPermission(user, 'deny', 'withdraw permissions of an API user, from its next request on');
  addLockouts(of);
  user
    .command('list')
    .description('list all API users')
    .action(() =>
      runWithServices(async (services) => printRows((await services.get(ApiUsersService).list()).map(userRowOf))),
    );
  return user;
}

type Add = (name: string, description: string) => Command;

function addLogins(of: Add): void {
  withPassword(
    of(
      'set-password',
      'change the password of an API user and revoke its sessions; if no password is given, a strong one is generated and printed once',
    ),
  ).action(({ email: address, ...password }: UserOptions) =>
    changeWithPassword('set-password', { email: address }, password, (users, secret) =>
      users.setPassword(address, secret),
    ),
  );
  const addSwitch = (name: string, description: string, isDisabled: boolean): Command =>
    of(name, description).action(({ email: address }: UserOptions) =>
      changeUser(name, { email: address }, (users) => users.setDisabled(address, isDisabled)),
    );
  addSwitch('disable', 'disable an API user and revoke its sessions', true);
  addSwitch('enable', 'enable a disabled API user', false);
}

function addPermission(user: Command, name: 'allow' | 'deny', description: string): void {
  user
    .command(name)
    .description(description)
    .argument('<email>', "the user's email", email)
    .argument('<permissions>', PERMISSION_LIST, permissions)
    .action((address: string, given: Permission[]) =>
      changeUser(name, { email: address, permissions: given }, (users) =>
        users.setPermissions(address, (before) =>
          PERMISSIONS.filter((one) => (given.includes(one) ? name === 'allow' : before.includes(one))),
        ),
      ),
    );
}

function addLockouts(of: Add): void {
  of('show', 'show an API user with its latest sessions and the failed logins that count against it').action(
    ({ email: address }: UserOptions) =>
      runWithServices(async (services) => {
        const found = await services.get(ApiUsersService).get(address);
        const sessions = await services.get(SessionsService).latestOf(found.id);
        const counts = await services
          .get(UnitOfWork)
          .statement((manager) => services.get(LoginCounts).failuresOf(manager, [found.id]));
        const failures = counts.map(({ kind, points, expire }) => {
          return { limit: kind, failures: points, until: new Date(expire) };
        });
        return { ...userRowOf(found), failed_logins: failures, sessions: sessions.map(toJson) };
      }),
  );
  of('unlock', 'forget the failed logins of an API user, so that it can log in again').action(
    ({ email: address }: UserOptions) =>
      changeUser('unlock', { email: address }, async (users, services) => {
        const found = await users.get(address);
        await services.get(LoginCounts).forgetFailuresOf(found.id);
        return found;
      }),
  );
}

async function changeWithPassword(
  name: string,
  details: Row,
  options: PasswordOptions,
  change: (users: ApiUsersService, password: string) => Promise<ApiUser>,
): Promise<void> {
  const given = await passwordOf(options);
  const password = given ?? Passwords.generate();
  await changeUser(name, details, (users) => change(users, password), given === undefined ? { password } : {});
}

/** @param shown what is only shown once, and not recorded. */
const changeUser = (
  name: string,
  details: Row,
  change: (users: ApiUsersService, services: INestApplicationContext) => Promise<ApiUser>,
  shown = {},
): Promise<void> =>
  runChange(`user ${name}`, details, async (services) => {
    const user = await change(services.get(ApiUsersService), services);
    const changed = { api_user_id: user.id, merchant_id: user.merchantId };
    return { result: { ...userRowOf(user), ...shown }, changed };
  });

function userRowOf(user: ApiUser): Row {
  const { passwordHash: _, permissions: allowed, ...shown } = user;
  return { ...toJson(shown), permissions: allowed };
}

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

interface WebhookOptions {
  merchant: string;
  url: string;
  types?: FeedEventType[];
  batch?: number;
  after?: number;
  from?: Date;
}

type Action = (endpoints: WebhookEndpointsService, id: string, options: WebhookOptions) => Promise<unknown>;

export function webhookCommands(): Command {
  const webhook = new Command('webhook').description("merchants' webhook endpoints");
  const of: Add = (name, description) =>
    webhook.command(name).description(description).requiredOption('--merchant <id>', 'the merchant');
  of('list', 'list the endpoints of a merchant').action(({ merchant }: WebhookOptions) =>
    runWithServices(async (services) => {
      const endpoints = await endpointsOf(services).list(merchant);
      printRows(endpoints.map(({ last_attempt: _, ...row }) => row));
    }),
  );
  withContent(of('create', 'create an endpoint; its secret is printed once')).action(
    ({ merchant, ...content }: WebhookOptions) =>
      runChange('webhook create', { merchant_id: merchant }, async (services) => {
        const result = await signing(services).create(merchant, content);
        return { result, changed: { endpoint_id: result.id } };
      }),
  );
  const ofOne: Add = (name, description) => of(name, description).argument('<webhook-endpoint>', 'the endpoint');
  ofOne('show', 'show an endpoint with its last attempt').action((id: string, { merchant }: WebhookOptions) =>
    runWithServices((services) => endpointsOf(services).get(merchant, id)),
  );
  addChanges(ofOne);
  return webhook;
}

function addChanges(ofOne: Add): void {
  const add = (name: string, description: string, run: Action, serviceOf = endpointsOf): Command =>
    ofOne(name, description).action((id: string, options: WebhookOptions) =>
      runChange(`webhook ${name}`, { merchant_id: options.merchant, endpoint_id: id }, async (services) => ({
        result: await run(serviceOf(services), id, options),
        changed: { endpoint_id: id },
      })),
    );
  const update: Action = (all, id, { merchant, ...content }) => all.replace(merchant, id, content);
  withContent(add('update', 'replace the URL, the types and the batch', update));
  add('delete', 'delete an endpoint', (all, id, { merchant }) => all.delete(merchant, id));
  const ping: Action = (all, id, { merchant }) => all.ping(merchant, id);
  add('ping', 'send a test event, and print the outcome', ping, signing);
  add('enable', 'deliver again, from where it stopped', (all, id, { merchant }) => all.enable(merchant, id));
  const rotate: Action = (all, id, { merchant }) => all.rotateSecret(merchant, id);
  add('rotate-secret', 'add a secret, printed once; earlier ones sign for 24 hours too', rotate, signing);
  const seek: Action = (all, id, { merchant, after, from }) => {
    if (after === undefined && from === undefined) throw new Error("one of '--after' and '--from' is required");
    return all.seek(merchant, id, { after, from: from?.toISOString() });
  };
  const sequence = new Option('--after <sequence>', 'the sequence').argParser(wholeNumber(0, Number.MAX_SAFE_INTEGER));
  add('seek', 'deliver the events after a sequence, or from an instant on', seek)
    .addOption(sequence.conflicts('from'))
    .option('--from <instant>', 'such as 2026-11-26T00:00:00-03:00', instant);
}

const withContent = (command: Command): Command =>
  command
    .requiredOption('--url <url>', 'where to send events')
    .addOption(new Option('--types <types...>', 'the types to send; default: all').choices(FEED_EVENT_TYPES))
    .option('--batch <events>', 'the events of a request, at most; default: 1', wholeNumber(1, 100));

const endpointsOf = (services: INestApplicationContext): WebhookEndpointsService =>
  services.get(WebhookEndpointsService);

function signing(services: INestApplicationContext): WebhookEndpointsService {
  if (!process.env.JWT_SECRET) throw new Error('JWT_SECRET must be that of the service');
  return endpointsOf(services);
}
