import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { MerchantsService } from '../merchants/merchants.service.js';
import { Config } from '../platform/config/config.js';
import { violatedUniqueKey } from '../platform/database/errors.js';
import { LOCKED } from '../platform/database/rows.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { newId } from '../platform/values/ids.js';
import { Problem } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { ApiUser } from './api-user.entity.js';
import { passwordFault, Passwords } from './passwords.js';
import { SessionsService } from './sessions.service.js';

const COMMON_COST_MAX_AGE_MS = 60_000;

/** A hash is `$2b$<cost>$…`. */
const COMMON_COST_SQL = `
  SELECT SUBSTRING(password_hash, 5, 2) AS cost FROM api_users GROUP BY SUBSTRING(password_hash, 5, 2) ORDER BY COUNT(*) DESC, cost DESC LIMIT 1`;

/** Emails are compared without case. */
export function canonicalEmail(email: string): string {
  return email.toLowerCase();
}

/** A user to create. */
type NewUser = Pick<ApiUser, 'merchantId' | 'name' | 'email' | 'permissions'>;

type UserChanges = Partial<Pick<ApiUser, 'name' | 'permissions' | 'passwordHash'>> & { isDisabled?: boolean };

/** Refuses a change in its transaction. */
type Check = (manager: EntityManager) => Promise<void>;

@Injectable()
export class ApiUsersService {
  #commonCost: { cost: Promise<number>; readAt: number } | undefined;

  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly merchants: MerchantsService,
    private readonly passwords: Passwords,
    private readonly sessions: SessionsService,
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  /**
   * @param check is called before the password is hashed, and in the transaction that creates the user.
   * @param turn whose turn it is to hash.
   * @throws Problem not_found for an unknown merchant; email_taken; and those of `check`.
   */
  async create(given: NewUser, password: string, check?: Check, turn = given.merchantId): Promise<ApiUser> {
    await this.merchants.get(given.merchantId);
    const email = canonicalEmail(given.email);
    if (check !== undefined) await this.unitOfWork.transaction(check);
    await this.#refuseTaken(email, given.merchantId);
    const passwordHash = await this.hash(password, turn);
    const now = this.clock.now();
    const user = { ...given, id: newId(now), email, passwordHash, lastLoginAt: null, disabledAt: null, createdAt: now };
    try {
      await this.unitOfWork.transaction(async (manager) => {
        await check?.(manager);
        await manager.insert(ApiUser, user);
      });
    } catch (error) {
      if (violatedUniqueKey(error) === 'uq_api_users_email') await this.#refuseTaken(email, given.merchantId);
      throw error;
    }
    return user;
  }

  async #refuseTaken(email: string, merchantId: string): Promise<void> {
    const existing = await this.findByEmail(email);
    if (existing === null) return;
    // What other merchants have is nobody's business.
    throw new Problem('email_taken', { existing_id: existing.merchantId === merchantId ? existing.id : null });
  }

  findByEmail(email: string): Promise<ApiUser | null> {
    return this.unitOfWork.statement((manager) => manager.findOneBy(ApiUser, { email: canonicalEmail(email) }));
  }

  /**
   * The most common bcrypt cost, at most a minute old. Unknown emails are compared at this cost, so that the response
   * time does not reveal which emails exist.
   */
  commonCost(): Promise<number> {
    const now = performance.now();
    if (this.#commonCost === undefined || now - this.#commonCost.readAt > COMMON_COST_MAX_AGE_MS) {
      const found = { cost: this.#readCommonCost(), readAt: now };
      this.#commonCost = found;
      found.cost.catch(() => {
        if (this.#commonCost === found) this.#commonCost = undefined;
      });
    }
    return this.#commonCost.cost;
  }

  /** Locks users by ID, so that no concurrent transaction changes or disables them, or starts a session. */
  lock(manager: EntityManager, ids: readonly string[]): Promise<ApiUser[]> {
    return manager.find(ApiUser, { where: { id: In(ids) }, order: { id: 'ASC' }, lock: LOCKED });
  }

  /**
   * Changes a locked user, so that a concurrent login either sees the change or is revoked by it: a new password and
   * disabling end all sessions but one.
   */
  async change(manager: EntityManager, user: ApiUser, changes: UserChanges, keptSession = ''): Promise<void> {
    const { isDisabled = user.disabledAt !== null, ...changed } = changes;
    const disabledAt = isDisabled ? (user.disabledAt ?? this.clock.now()) : null;
    Object.assign(user, changed, { disabledAt });
    await manager.save(ApiUser, user);
    if (isDisabled || changed.passwordHash !== undefined)
      await this.sessions.revokeAllOf(manager, user.id, keptSession);
  }

  async #readCommonCost(): Promise<number> {
    const [row] = await this.unitOfWork.statement((manager) => manager.query<{ cost: number }[]>(COMMON_COST_SQL));
    return row === undefined ? this.config.BCRYPT_COST : Number(row.cost);
  }

  /** It takes a while: check first, and hold no transaction. @throws Error if nobody may choose the password. */
  hash(password: string, turn: string): Promise<string> {
    const fault = passwordFault(password);
    if (fault !== undefined) throw new Error(`a password ${fault}`);
    return this.passwords.hash(password, turn);
  }
}
