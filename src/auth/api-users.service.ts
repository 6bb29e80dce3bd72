import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { Config } from '../config/config.js';
import { violatedUniqueKey } from '../database/errors.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { ApiUser } from './api-user.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { MAX_PASSWORD_BYTES, Passwords } from './passwords.js';
import { SessionsService } from './sessions.service.js';

const COMMON_COST_MAX_AGE_MS = 60_000;

/** A hash is `$2b$<cost>$…`. */
const COMMON_COST_SQL = `
  SELECT SUBSTRING(password_hash, 5, 2) AS cost FROM api_users GROUP BY SUBSTRING(password_hash, 5, 2) ORDER BY COUNT(*) DESC, cost DESC LIMIT 1`;

/** Emails are compared without case. */
export function canonicalEmail(email: string): string {
  return email.toLowerCase();
}

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

  async create(merchantId: string, email: string, password: string, mayGrant = false): Promise<ApiUser> {
    await this.merchants.get(merchantId);
    const now = this.clock.now();
    const user: ApiUser = {
      id: newId(now),
      merchantId,
      email: canonicalEmail(email),
      passwordHash: await this.#hash(password),
      mayGrant,
      disabledAt: null,
      createdAt: now,
    };
    try {
      await this.unitOfWork.statement((manager) => manager.insert(ApiUser, user));
    } catch (error) {
      if (violatedUniqueKey(error) === 'uq_api_users_email')
        throw new Error(`a user with the email ${user.email} already exists`, { cause: error });
      throw error;
    }
    return user;
  }

  list(): Promise<ApiUser[]> {
    return this.unitOfWork.statement((manager) => manager.find(ApiUser, { order: { createdAt: 'ASC', id: 'ASC' } }));
  }

  findByEmail(email: string): Promise<ApiUser | null> {
    return this.unitOfWork.statement((manager) => manager.findOneBy(ApiUser, { email: canonicalEmail(email) }));
  }

  async get(email: string): Promise<ApiUser> {
    const user = await this.findByEmail(email);
    if (user === null) throw new Error(`no user has the email ${email}`);
    return user;
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

  /** Locks a user's row, so that no concurrent transaction changes the password or disables the user. */
  lock(manager: EntityManager, id: string): Promise<ApiUser | null> {
    return manager.findOne(ApiUser, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  /** Disabling revokes all sessions of the user in the same transaction. */
  setDisabled(email: string, disabled: boolean): Promise<ApiUser> {
    return this.#change(email, { disabledAt: disabled ? this.clock.now() : null }, disabled);
  }

  /** Revokes all sessions of the user in the same transaction. */
  async setPassword(email: string, password: string): Promise<ApiUser> {
    return this.#change(email, { passwordHash: await this.#hash(password) }, true);
  }

  setMayGrant(email: string, mayGrant: boolean): Promise<ApiUser> {
    return this.#change(email, { mayGrant }, false);
  }

  /** Locks the user's row first, so that a concurrent login either sees the change or is revoked by it. */
  #change(email: string, changes: Partial<ApiUser>, revokesSessions: boolean): Promise<ApiUser> {
    return this.unitOfWork.transaction(async (manager) => {
      await manager.update(ApiUser, { email: canonicalEmail(email) }, changes);
      const user = await manager.findOneBy(ApiUser, { email: canonicalEmail(email) });
      if (user === null) throw new Error(`no user has the email ${email}`);
      if (revokesSessions) await this.sessions.revokeAllOf(manager, user.id);
      return user;
    });
  }

  async #readCommonCost(): Promise<number> {
    const [row] = await this.unitOfWork.statement((manager) => manager.query<{ cost: number }[]>(COMMON_COST_SQL));
    return row === undefined ? this.config.BCRYPT_COST : Number(row.cost);
  }

  #hash(password: string): Promise<string> {
    const bytes = Buffer.byteLength(password);
    if (bytes < 12 || bytes > MAX_PASSWORD_BYTES)
      throw new Error(`a password must be 12 to ${MAX_PASSWORD_BYTES} bytes long; this one has ${bytes}`);
    return this.passwords.hash(password);
  }
}
