import { randomBytes } from 'node:crypto';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import bcrypt from 'bcrypt';
import { unavailable } from '../common/problem.js';
import { Config } from '../config/config.js';
import { ComparisonThread } from './comparison-thread.js';
import { FairQueue, type Share } from './fair-queue.js';

/** bcrypt reads no further, so a longer password would be known by its beginning. */
export const MAX_PASSWORD_BYTES = 72;

/** Where a login comes from. */
export interface LoginOrigin {
  email: string;
  network: string;
  /** Whether the user has logged in from this network lately. */
  isKnownNetwork: boolean;
}

/** Hashes and compares the passwords of API users. */
@Injectable()
export class Passwords implements OnApplicationShutdown {
  /** What an unknown user's password is compared with, by cost, so that it takes the same time as a known one's. */
  readonly #dummies = new Map<number, Promise<string>>();

  /** A storm of logins must not take the processor away from orders: the rest wait for their turn. */
  readonly #queue: FairQueue;

  /** No more than there are turns. */
  readonly #threads = new Set<ComparisonThread>();
  readonly #idle: ComparisonThread[] = [];

  constructor(private readonly config: Config) {
    this.#queue = new FairQueue(config.BCRYPT_CONCURRENCY, config.BCRYPT_QUEUE);
    void this.#dummyOf(config.BCRYPT_COST);
  }

  /** How many comparisons are under way and how many wait for their turn. */
  get load(): { active: number; waiting: number } {
    return this.#queue.load;
  }

  hash(password: string): Promise<string> {
    return bcrypt.hash(password, this.config.BCRYPT_COST);
  }

  /**
   * @param hash of the user, or undefined for an unknown user.
   * @param commonCost the bcrypt cost at which an unknown user is compared.
   * @param origin decides in which share of the queue it waits.
   * @param signal aborted once nobody waits for the answer: it then takes no turn any more.
   * @returns whether the password is the user's; the answer takes as long either way.
   * @throws Problem unavailable where too many wait already, or it could not be compared; too_many_requests where too
   *   many of this user or network wait.
   */
  async verify(
    password: string,
    hash: string | undefined,
    commonCost: number,
    origin: LoginOrigin,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const fits = Buffer.byteLength(password) <= MAX_PASSWORD_BYTES;
    const against = hash ?? (await this.#dummyOf(commonCost));
    const same = await this.#queue.run(this.#sharesOf(origin), () => this.#compare(password, against, signal));
    return same && fits && hash !== undefined;
  }

  /** Whether a hash has another cost than new ones get. */
  isOutdated(hash: string): boolean {
    return bcrypt.getRounds(hash) !== this.config.BCRYPT_COST;
  }

  /** After the last request: whatever is still being compared then is for nobody. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  #dummyOf(cost: number): Promise<string> {
    const dummy = this.#dummies.get(cost) ?? bcrypt.hash(randomBytes(32).toString('base64'), cost);
    this.#dummies.set(cost, dummy);
    return dummy;
  }

  /**
   * A user may take a fifth of the queue, and a network half of it, as users can share one. Strangers who log in under a
   * user's email share their places, and never take those for networks that the user has logged in from.
   */
  #sharesOf({ email, network, isKnownNetwork }: LoginOrigin): Share[] {
    const placesOf = (part: number): number => Math.max(2, Math.floor(this.config.BCRYPT_QUEUE * part));
    return [
      { key: `user ${isKnownNetwork} ${email}`, places: placesOf(1 / 5) },
      { key: `network ${network}`, places: placesOf(1 / 2) },
    ];
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
