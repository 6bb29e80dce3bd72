import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { violatedUniqueKey } from '../database/errors.js';
import { ApiUser } from './api-user.entity.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { MAX_PASSWORD_BYTES, Passwords } from './passwords.js';

/** Something the operator asked for that can't be done; the message says why. */
export class OperatorError extends Error {}

/** E-mails compare without case. */
export function canonicalEmail(email: string): string {
  return email.toLowerCase();
}

@Injectable()
export class ApiUsersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly merchants: MerchantsService,
    private readonly passwords: Passwords,
    private readonly clock: Clock,
  ) {}

  /** @throws OperatorError where the e-mail is taken or the password can't be kept. */
  async create(merchantId: string, email: string, password: string): Promise<ApiUser> {
    await this.merchants.get(merchantId);
    const now = this.clock.now();
    const user: ApiUser = {
      id: newId(now),
      merchantId,
      email: canonicalEmail(email),
      passwordHash: await this.#hash(password),
      disabledAt: null,
      createdAt: now,
    };
    try {
      await this.dataSource.manager.insert(ApiUser, user);
    } catch (error) {
      if (violatedUniqueKey(error) === 'uq_api_users_email')
        throw new OperatorError(`there is a user with the e-mail ${user.email} already`);
      throw error;
    }
    return user;
  }

  list(): Promise<ApiUser[]> {
    return this.dataSource.manager.find(ApiUser, { order: { createdAt: 'ASC', id: 'ASC' } });
  }

  findByEmail(email: string): Promise<ApiUser | null> {
    return this.dataSource.manager.findOneBy(ApiUser, { email: canonicalEmail(email) });
  }

  /** Disabling stops the user's tokens at once. @throws OperatorError for an unknown e-mail. */
  async setDisabled(email: string, disabled: boolean): Promise<ApiUser> {
    return this.#change(email, { disabledAt: disabled ? this.clock.now() : null });
  }

  /** @throws OperatorError for an unknown e-mail or a password that can't be kept. */
  async setPassword(email: string, password: string): Promise<ApiUser> {
    return this.#change(email, { passwordHash: await this.#hash(password) });
  }

  async #change(email: string, changes: Partial<ApiUser>): Promise<ApiUser> {
    await this.dataSource.manager.update(ApiUser, { email: canonicalEmail(email) }, changes);
    const user = await this.findByEmail(email);
    if (user === null) throw new OperatorError(`there is no user with the e-mail ${email}`);
    return user;
  }

  #hash(password: string): Promise<string> {
    const bytes = Buffer.byteLength(password);
    if (bytes < 12 || bytes > MAX_PASSWORD_BYTES)
      throw new OperatorError(`a password has 12 to ${MAX_PASSWORD_BYTES} bytes; this one has ${bytes}`);
    return this.passwords.hash(password);
  }
}
