import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Injectable } from '@nestjs/common';
import bcrypt from 'bcrypt';
import { FairQueue } from '../platform/values/fair-queue.js';
import { withoutUnseen } from '../platform/values/texts.js';
import { Config } from '../platform/config/config.js';

/** bcrypt ignores further bytes, so the beginning of a longer password would be accepted for the whole. */
const MAX_PASSWORD_BYTES = 72;
const MIN_PASSWORD_BYTES = 12;
/** A character can have four bytes. */
const MIN_PASSWORD_CHARACTERS = 8;

/**
 * In lower case, the most common first: the first 3,000 of at least 12 bytes in the list of the ten million most common
 * passwords of SecLists (MIT License, Copyright 2018 Daniel Miessler).
 */
const COMMON_PASSWORDS = new Set(readFileSync(new URL('common-passwords.txt', import.meta.url), 'utf8').split('\n'));

/** Returns why nobody may choose a password; undefined if it can be chosen. */
export function passwordFault(password: unknown): string | undefined {
  const bytes = typeof password === 'string' ? Buffer.byteLength(password) : 0;
  if (typeof password !== 'string' || bytes < MIN_PASSWORD_BYTES || bytes > MAX_PASSWORD_BYTES)
    return `must be a string of ${MIN_PASSWORD_BYTES} to ${MAX_PASSWORD_BYTES} bytes in UTF-8`;
  // Every lone surrogate would become U+FFFD, which makes different passwords equal.
  if (!password.isWellFormed()) return 'must be well-formed Unicode';
  const seen = withoutUnseen(password);
  if ([...seen].length < MIN_PASSWORD_CHARACTERS)
    return `must have at least ${MIN_PASSWORD_CHARACTERS} characters that people see`;
  return COMMON_PASSWORDS.has(seen.toLowerCase())
    ? 'must not be one of the most common passwords: choose a longer or a less usual one'
    : undefined;
}

interface Login {
  /** In its canonical form. */
  email: string;
  /** Networks take turns. */
  network: string;
  password: string;
}

@Injectable()
export class Passwords {
  /** Hashes by cost. Passwords of unknown users are compared with one, so that it takes as long as for known users. */
  readonly #dummies = new Map<number, Promise<string>>();

  /** Bounds concurrent comparisons and hashes, so that a burst of them does not take the CPU away from orders. */
  readonly #queue: FairQueue;

  /** The comparisons that run or wait, by their input: workers of one user that log in at once share one. */
  readonly #comparisons = new Map<string, Promise<boolean>>();

  constructor(private readonly config: Config) {
    this.#queue = new FairQueue(config.BCRYPT_CONCURRENCY);
    void this.#dummyOf(config.BCRYPT_COST);
  }

  get load(): { running: number; waiting: number } {
    return this.#queue.load;
  }

  /** @param turn whose turn it is: callers with another one, such as merchants and networks, take turns. */
  hash(password: string, turn: string): Promise<string> {
    return this.#queue.run(turn, () => bcrypt.hash(password, this.config.BCRYPT_COST));
  }

  /**
   * Takes as long for an unknown user, who has no hash, as for a known one.
   *
   * @param commonCost the bcrypt cost of the comparison for an unknown user.
   */
  async verify(login: Login, hash: string | undefined, commonCost: number): Promise<boolean> {
    const fits = Buffer.byteLength(login.password) <= MAX_PASSWORD_BYTES;
    const same = await this.#compare(login, hash ?? (await this.#dummyOf(commonCost)));
    return same && fits && hash !== undefined;
  }

  isOutdated(hash: string): boolean {
    return bcrypt.getRounds(hash) !== this.config.BCRYPT_COST;
  }

  #dummyOf(cost: number): Promise<string> {
    const dummy = this.#dummies.get(cost) ?? bcrypt.hash(randomBytes(32).toString('base64'), cost);
    this.#dummies.set(cost, dummy);
    return dummy;
  }

  /** The email is part of the key, because unknown users share a hash and must not be faster for it. */
  #compare({ email, network, password }: Login, hash: string): Promise<boolean> {
    const key = createHash('sha256').update(`${email}\0${hash}\0${password}`).digest('base64');
    const running = this.#comparisons.get(key);
    if (running !== undefined) return running;
    const comparison = this.#queue
      .run(network, () => bcrypt.compare(password, hash))
      .finally(() => this.#comparisons.delete(key));
    this.#comparisons.set(key, comparison);
    return comparison;
  }

  /** Generates a strong password for a machine: 192 bits. */
  static generate(): string {
    return randomBytes(24).toString('base64url');
  }
}
