import { Injectable, Logger } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { GrantTotals } from '../merchants/grant-totals.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { Config } from '../platform/config/config.js';
import { list, type PageRequest } from '../platform/database/lists.js';
import { Reads } from '../platform/database/reads.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { loginQuota, loginUserQuota } from '../platform/rate-limits/rate-limiter.js';
import { type Caller, OPERATOR, type Permission, PERMISSIONS } from '../platform/values/caller.js';
import { formatMoney } from '../platform/values/money.js';
import { notFound, Problem } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { ApiUser } from './api-user.entity.js';
import { ApiUsersService } from './api-users.service.js';
import { LoginCounts, LoginLimit } from './login-limit.js';
import { Passwords } from './passwords.js';
import { SessionsService } from './sessions.service.js';
import {
  type ChangePasswordDto,
  type ChangeUserDto,
  type CreateUserDto,
  type MeDto,
  type UserDto,
  type UserPageDto,
  type UserWithPasswordDto,
} from './user.dto.js';

/** Parts of a user to change. */
export interface UserEdit {
  name?: string;
  disabled?: boolean;
  allow?: readonly Permission[];
  deny?: readonly Permission[];
}

/**
 * What a merchant does with its API users. A user changes only others that have no permission that it lacks, and gives
 * only what it has: both users are locked first, so that nothing is withdrawn meanwhile.
 */
@Injectable()
export class UsersService {
  readonly #log = new Logger('Security');

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly reads: Reads,
    private readonly apiUsers: ApiUsersService,
    private readonly passwords: Passwords,
    private readonly sessions: SessionsService,
    private readonly counts: LoginCounts,
    private readonly loginLimit: LoginLimit,
    private readonly config: Config,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /** Returns a page of the merchant's API users, oldest first. */
  list({ merchantId }: Caller, request: PageRequest): Promise<UserPageDto> {
    return this.reads.page(merchantId, request, ({ manager }) =>
      list({
        name: 'users',
        entity: ApiUser,
        order: 'ASC',
        ranges: [{ index: 'ix_api_users_merchant', prefix: [] }],
        present: (users) => this.#toDtos(manager, users),
      }),
    );
  }

  /** @throws Problem not_found, also for a user of another merchant. */
  get({ merchantId }: Caller, id: string): Promise<UserDto> {
    return this.unitOfWork.statement(async (manager) => {
      const user = await manager.findOneBy(ApiUser, { id, merchantId });
      if (user === null) throw notFound('no API user has this ID');
      return (await this.#toDtos(manager, [user]))[0]!;
    });
  }

  /** Returns the caller as the database has it, so that a change of its permissions shows immediately. */
  async me({ merchantId, apiUserId: id }: Caller): Promise<MeDto> {
    const policy = await this.merchants.policyOf(merchantId);
    return this.unitOfWork.statement(async (manager) => {
      const { name, email, permissions } = await manager.findOneByOrFail(ApiUser, { id, merchantId });
      const merchant = await manager.findOneByOrFail(Merchant, { id: merchantId });
      const grants_left_today = permissions.includes('grants')
        ? formatMoney(
            await GrantTotals.leftCentsOf(manager, { merchantId, by: id, policy }, this.clock.now(merchantId)),
          )
        : null;
      return {
        user_id: id,
        name,
        email,
        permissions,
        grants_left_today,
        merchant: { id: merchantId, name: merchant.name },
      };
    });
  }

  /** @throws Problem forbidden, for a permission that the caller lacks; email_taken. */
  async create(caller: Caller, { name, email, permissions }: CreateUserDto): Promise<UserWithPasswordDto> {
    const password = Passwords.generate();
    const given = { merchantId: caller.merchantId, name, email, permissions: ordered(permissions) };
    const { id } = await this.apiUsers.create(given, password, async (manager) => {
      if (caller.apiUserId !== OPERATOR) await this.#lockBoth(manager, caller, caller.apiUserId, permissions);
    });
    this.#report('user_created', caller, id, { name, permissions });
    return { ...(await this.get(caller, id)), password };
  }

  /** @throws Problem not_found; own_user; forbidden, for a permission that the caller lacks. */
  async change(caller: Caller, id: string, { name, permissions, disabled }: ChangeUserDto): Promise<UserDto> {
    const changes = { name, permissions: ordered(permissions), isDisabled: disabled };
    const name_before = await this.#changeOther(caller, id, changes);
    this.#report('user_changed', caller, id, { name_before, name, permissions, disabled });
    return this.get(caller, id);
  }

  /** Changes parts of a user, for the operator. @throws Problem not_found. */
  async edit(caller: Caller, id: string, { name, disabled, allow = [], deny = [] }: UserEdit): Promise<UserDto> {
    await this.unitOfWork.transaction(async (manager) => {
      const user = await this.#lockBoth(manager, caller, id, []);
      const permissions = ordered([...user.permissions, ...allow].filter((one) => !deny.includes(one)));
      const changes = { name: name ?? user.name, permissions, isDisabled: disabled ?? user.disabledAt !== null };
      await this.apiUsers.change(manager, user, changes);
    });
    return this.get(caller, id);
  }

  /** Ends the user's sessions. @throws Problem as `change`. */
  async renewPassword(caller: Caller, id: string): Promise<UserWithPasswordDto> {
    const password = Passwords.generate();
    // Refuses what must not change, before it hashes.
    await this.#changeOther(caller, id, {});
    await this.#changeOther(caller, id, { passwordHash: await this.apiUsers.hash(password, caller.merchantId) });
    this.#report('user_password_renewed', caller, id);
    return { ...(await this.get(caller, id)), password };
  }

  /**
   * Changes the caller's password, and ends its other sessions. Wrong passwords count as failed logins. A repeat finds
   * the new password, and changes nothing, also if it comes while the first one runs.
   *
   * @throws Problem wrong_password; too_many_requests.
   */
  async changePassword(caller: Caller, sent: ChangePasswordDto, address: string | undefined): Promise<void> {
    const { current_password, new_password } = sent;
    const user = await this.unitOfWork.statement((manager) =>
      manager.findOneByOrFail(ApiUser, { id: caller.apiUserId }),
    );
    const attempt = await this.loginLimit.admit(user.email, user.id, address);
    const cost = await this.apiUsers.commonCost();
    const is = (password: string): Promise<boolean> =>
      this.passwords.verify({ ...attempt, password }, user.passwordHash, cost);
    const isCurrent = await is(current_password);
    if (!isCurrent && !(await is(new_password))) {
      await this.loginLimit.failed(attempt);
      throw wrongPassword();
    }
    await this.loginLimit.succeeded(attempt);
    if (!isCurrent) return;
    const passwordHash = await this.apiUsers.hash(new_password, caller.merchantId);
    const isChanged = await this.unitOfWork.transaction(async (manager) => {
      const [locked] = await this.apiUsers.lock(manager, [user.id]);
      if (locked?.passwordHash !== user.passwordHash) return false;
      await this.apiUsers.change(manager, locked, { passwordHash }, caller.sessionId);
      return true;
    });
    if (!isChanged) return this.changePassword(caller, sent, address);
    this.#report('user_password_changed', caller, user.id);
  }

  /** The log says who changed which user, because a user that was changed keeps no history. */
  #report(event: string, { merchantId, apiUserId }: Caller, user_id: string, details: object = {}): void {
    this.#log.log({ event, merchant_id: merchantId, api_user_id: apiUserId, changed_user_id: user_id, ...details });
  }

  /** @returns the name before. */
  #changeOther(caller: Caller, id: string, changes: Parameters<ApiUsersService['change']>[2]): Promise<string> {
    return this.unitOfWork.transaction(async (manager) => {
      const user = await this.#lockBoth(manager, caller, id, changes.permissions ?? []);
      if (id === caller.apiUserId) throw new Problem('own_user');
      const { name } = user;
      await this.apiUsers.change(manager, user, changes);
      return name;
    });
  }

  /** @returns the user with the ID, who has no permission that the caller lacks. */
  async #lockBoth(
    manager: EntityManager,
    { merchantId, apiUserId }: Caller,
    id: string,
    given: readonly Permission[],
  ): Promise<ApiUser> {
    const users = await this.apiUsers.lock(manager, [apiUserId, id]);
    const user = users.find((one) => one.id === id && one.merchantId === merchantId);
    if (user === undefined) throw notFound('no API user has this ID');
    if (apiUserId === OPERATOR) return user;
    const own = users.find((one) => one.id === apiUserId && one.disabledAt === null)?.permissions ?? [];
    const needed: Permission[] = ['users', ...user.permissions, ...given];
    const lacking = needed.find((permission) => !own.includes(permission));
    if (lacking !== undefined) throw new Problem('forbidden', { permission: lacking });
    return user;
  }

  async #toDtos(manager: EntityManager, users: readonly ApiUser[]): Promise<UserDto[]> {
    const ids = users.map(({ id }) => id);
    const open = await this.sessions.countOpen(manager, ids);
    const limits = new Map(
      [loginQuota, loginUserQuota].map((quota) => quota(this.config)).map((q) => [q.name, q.limit]),
    );
    const failures = await this.counts.failuresOf(manager, ids);
    return users.map((user) => {
      const used = failures.filter(
        (one) => one.apiUserId === user.id && one.points >= (limits.get(one.kind) ?? Infinity),
      );
      return {
        id: user.id,
        name: user.name,
        email: user.email,
        permissions: user.permissions,
        disabled: user.disabledAt !== null,
        created_at: user.createdAt,
        last_login_at: user.lastLoginAt,
        locked_out_until: used.length === 0 ? null : new Date(Math.max(...used.map(({ expire }) => expire))),
        sessions: open.get(user.id) ?? 0,
      };
    });
  }
}

const ordered = (permissions: readonly Permission[]): Permission[] =>
  PERMISSIONS.filter((permission) => permissions.includes(permission));

const wrongPassword = (): Problem =>
  new Problem('wrong_password', { errors: [{ pointer: '/current_password', detail: 'must be the current password' }] });
