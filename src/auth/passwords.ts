import { randomBytes } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import bcrypt from 'bcrypt';
import type { IsAnswered } from '../common/caller.js';
import { unavailable } from '../common/problem.js';
import { Config } from '../config/config.js';
import { ComparisonThread } from './comparison-thread.js';
import { FairQueue, type Share } from './fair-queue.js';

/** bcrypt ignores further bytes, so the beginning of a longer password would be accepted for the whole. */
export const MAX_PASSWORD_BYTES = 72;

/** The user and the network that a login comes from. */
export interface LoginOrigin {
  email: string;
  network: string;
  /** Whether the user has logged in from this network recently. */
  isKnownNetwork: boolean;
}

/** Hashes and compares the passwords of API users. */
@Injectable()
export class Passwords implements OnApplicationShutdown {
  /** Hashes by cost. Passwords of unknown users are compared with one, so that it takes as long as for known users. */
  readonly #dummies = new Map<number, Promise<string>>();

  /** Bounds concurrent comparisons, so that a burst of logins does not take the CPU away from orders. */
  readonly #queue: FairQueue;

  /** At most BCRYPT_CONCURRENCY. */
  readonly #threads = new Set<ComparisonThread>();
  readonly #idle: ComparisonThread[] = [];

  constructor(private readonly config: Config) {
    this.#queue = new FairQueue(config.BCRYPT_CONCURRENCY, config.BCRYPT_QUEUE);
    void this.#dummyOf(config.BCRYPT_COST);
  }

  /** The number of running and of waiting comparisons. */
  get load(): { active: number; waiting: number } {
    return this.#queue.load;
  }

  hash(password: string): Promise<string> {
    return bcrypt.hash(password, this.config.BCRYPT_COST);
  }

  /**
   * Verifies a password. It takes as long for an unknown user as for a known one.
   *
   * @param hash the user's hash, or undefined for an unknown user.
   * @param commonCost the bcrypt cost of the comparison for an unknown user.
   * @param origin decides which shares of the queue the comparison counts against.
   * @param isAnswered whether the client no longer waits; a comparison that has not started is then skipped.
   * @returns whether the password is the user's.
   * @throws Problem unavailable if the queue is full or the comparison fails; too_many_requests if too many logins of
   *   this user or network wait.
   */
  async verify(
    password: string,
    hash: string | undefined,
    commonCost: number,
    origin: LoginOrigin,
    isAnswered: IsAnswered,
  ): Promise<boolean> {
    const fits = Buffer.byteLength(password) <= MAX_PASSWORD_BYTES;
    const against = hash ?? (await this.#dummyOf(commonCost));
    const same = await this.#queue.run(this.#sharesOf(origin), () => this.#compare(password, against, isAnswered));
    return same && fits && hash !== undefined;
  }

  /** Returns whether the hash's cost differs from BCRYPT_COST. */
  isOutdated(hash: string): boolean {
    return bcrypt.getRounds(hash) !== this.config.BCRYPT_COST;
  }

  /** Runs after the last request, so no client waits for a comparison that is still in progress. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  #dummyOf(cost: number): Promise<string> {
    const dummy = this.#dummies.get(cost) ?? bcrypt.hash(randomBytes(32).toString('base64'), cost);
    this.#dummies.set(cost, dummy);
    return dummy;
  }

  /**
   * One user may take 20 % of the queue, and one network 50 %, because users can share a network. Logins from networks
   * that are new to the user have a share of their own, so that strangers can't take the places of the user's known
   * networks.
   */
  #sharesOf({ email, network, isKnownNetwork }: LoginOrigin): Share[] {
    const placesFor = (part: number): number => Math.max(2, Math.floor(this.config.BCRYPT_QUEUE * part));
    return [
      { key: `user ${isKnownNetwork} ${email}`, places: placesFor(1 / 5) },
      { key: `network ${network}`, places: placesFor(1 / 2) },
    ];
  }

  async #compare(password: string, hash: string, isAnswered: IsAnswered): Promise<boolean> {
    if (isAnswered()) throw unavailable(new Error('the client no longer waits for this login'));
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

  /** Generates a strong password for a machine: 192 bits. */
  static generate(): string {
    return randomBytes(24).toString('base64url');
  }
}
