import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import bcrypt from 'bcrypt';
import pLimit, { type LimitFunction } from 'p-limit';
import { unavailable } from '../common/problem.js';
import { Config } from '../config/config.js';

/** bcrypt ignores further bytes, so the beginning of a longer password would be accepted for the whole. */
export const MAX_PASSWORD_BYTES = 72;

/** Hashes and compares the passwords of API users. */
@Injectable()
export class Passwords {
  /** Hashes by cost. Passwords of unknown users are compared with one, so that it takes as long as for known users. */
  readonly #dummies = new Map<number, Promise<string>>();

  /** Bounds concurrent comparisons, so that a burst of logins does not take the CPU away from orders. */
  readonly #limit: LimitFunction;

  constructor(private readonly config: Config) {
    this.#limit = pLimit(config.BCRYPT_CONCURRENCY);
    void this.#dummyOf(config.BCRYPT_COST);
  }

  /** The number of running and of waiting comparisons. */
  get load(): { active: number; waiting: number } {
    return { active: this.#limit.activeCount, waiting: this.#limit.pendingCount };
  }

  hash(password: string): Promise<string> {
    return bcrypt.hash(password, this.config.BCRYPT_COST);
  }

  /**
   * Verifies a password. It takes as long for an unknown user as for a known one.
   *
   * @param hash the user's hash, or undefined for an unknown user.
   * @param commonCost the bcrypt cost of the comparison for an unknown user.
   * @returns whether the password is the user's.
   * @throws Problem unavailable if the queue is full or the comparison fails; too_many_requests if too many logins of
   *   this user or network wait.
   */
  async verify(password: string, hash: string | undefined, commonCost: number): Promise<boolean> {
    const fits = Buffer.byteLength(password) <= MAX_PASSWORD_BYTES;
    const against = hash ?? (await this.#dummyOf(commonCost));
    const { active, waiting } = this.load;
    if (active >= this.config.BCRYPT_CONCURRENCY && waiting >= this.config.BCRYPT_QUEUE)
      throw unavailable(new Error('the login queue is full'));
    const same = await this.#limit(() => this.#compare(password, against));
    return same && fits && hash !== undefined;
  }

  /** Returns whether the hash's cost differs from BCRYPT_COST. */
  isOutdated(hash: string): boolean {
    return bcrypt.getRounds(hash) !== this.config.BCRYPT_COST;
  }

  #dummyOf(cost: number): Promise<string> {
    const dummy = this.#dummies.get(cost) ?? bcrypt.hash(randomBytes(32).toString('base64'), cost);
    this.#dummies.set(cost, dummy);
    return dummy;
  }

  async #compare(password: string, hash: string): Promise<boolean> {
    return bcrypt.compare(password, hash);
  }

  /** Generates a strong password for a machine: 192 bits. */
  static generate(): string {
    return randomBytes(24).toString('base64url');
  }
}
