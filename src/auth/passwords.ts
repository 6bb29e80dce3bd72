import { randomBytes } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import bcrypt from 'bcrypt';
import pLimit, { type LimitFunction } from 'p-limit';
import { unavailable } from '../common/problem.js';
import { Config } from '../config/config.js';
import { ComparisonThread } from './comparison-thread.js';

/** bcrypt reads no further, so a longer password would be known by its beginning. */
export const MAX_PASSWORD_BYTES = 72;

/** Hashes and compares the passwords of API users. */
@Injectable()
export class Passwords implements OnApplicationShutdown {
  /** What an unknown user's password is compared with, so that it costs the same as a known one's. */
  readonly #nobody: Promise<string>;

  /** A storm of log-ins must not take the processor away from orders: the rest wait their turn. */
  readonly #inTurn: LimitFunction;

  /** No more than there are turns. */
  readonly #threads = new Set<ComparisonThread>();
  readonly #idle: ComparisonThread[] = [];

  constructor(private readonly config: Config) {
    this.#inTurn = pLimit(config.BCRYPT_CONCURRENCY);
    this.#nobody = bcrypt.hash(randomBytes(32).toString('base64'), config.BCRYPT_COST);
  }

  /** How many comparisons are under way and how many wait for their turn. */
  get load(): { active: number; waiting: number } {
    return { active: this.#inTurn.activeCount, waiting: this.#inTurn.pendingCount };
  }

  hash(password: string): Promise<string> {
    return bcrypt.hash(password, this.config.BCRYPT_COST);
  }

  /**
   * @param hash of the user, or undefined where there is no such user.
   * @param signal aborted once nobody waits for the answer: it then takes no turn any more.
   * @returns whether the password is the user's; the answer takes as long either way.
   * @throws Problem unavailable where too many wait already, or it could not be compared.
   */
  async verify(password: string, hash: string | undefined, signal?: AbortSignal): Promise<boolean> {
    const fits = Buffer.byteLength(password) <= MAX_PASSWORD_BYTES;
    const against = fits && hash !== undefined ? hash : await this.#nobody;
    const { active, waiting } = this.load;
    if (active + waiting >= this.config.BCRYPT_CONCURRENCY + this.config.BCRYPT_QUEUE)
      throw unavailable(new Error('too many log-ins wait for their turn'));
    const same = await this.#inTurn(() => this.#compare(password, against, signal));
    return same && fits && hash !== undefined;
  }

  /** After the last request: whatever is still being compared then is for nobody. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  async #compare(password: string, hash: string, signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted) throw unavailable(new Error('nobody waits for this log-in any more'));
    const thread = this.#idle.pop() ?? new ComparisonThread();
    this.#threads.add(thread);
    try {
      return await thread.compare(password, hash);
    } catch (error) {
      throw unavailable(error);
    } finally {
      this.#idle.push(thread);
    }
  }

  /** A strong password for a machine: 192 bits. */
  static generate(): string {
    return randomBytes(24).toString('base64url');
  }
}
