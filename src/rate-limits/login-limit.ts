import { Injectable, Logger } from '@nestjs/common';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { Config } from '../config/config.js';
import { canonicalEmail } from '../auth/api-users.service.js';
import { networkOf } from './network.js';
import { loginAddressPolicy, loginPolicy, type RateLimitPolicy } from './policies.js';
import { RateLimitStore } from './store.js';
import { tooManyRequests } from './too-many-requests.js';

/** Whose log-in it is: the e-mail as it was given, and where it came from. */
export interface LoginAttempt {
  email: string;
  address: string | undefined;
}

interface Count {
  policy: RateLimitPolicy;
  limiter: RateLimiterAbstract;
  keyOf: (attempt: LoginAttempt) => string;
}

/**
 * Counts failed log-ins by the pair of e-mail and address, and by address alone. By e-mail alone would let
 * anybody lock a merchant out, from anywhere, by failing in its name.
 */
@Injectable()
export class LoginLimit {
  readonly #log = new Logger('Security');
  readonly #pair: Count;
  readonly #address: Count;

  constructor(config: Config, store: RateLimitStore) {
    const [pair, address] = [loginPolicy(config), loginAddressPolicy(config)];
    this.#pair = {
      policy: pair,
      limiter: store.limiterOf(pair),
      keyOf: (attempt) => store.keyOf(pair, canonicalEmail(attempt.email), networkOf(attempt.address)),
    };
    this.#address = {
      policy: address,
      limiter: store.limiterOf(address),
      keyOf: (attempt) => store.keyOf(address, networkOf(attempt.address)),
    };
  }

  /**
   * To be asked before bcrypt is spent.
   *
   * @throws Problem too_many_requests where too many have failed.
   */
  async admit(attempt: LoginAttempt): Promise<void> {
    await this.#failuresOf(attempt);
  }

  /**
   * Counts a failure.
   *
   * @throws Problem too_many_requests for one that was admitted together with many others, all of which failed:
   *   only as many as the limit allows learn whether they guessed right.
   */
  async failed(attempt: LoginAttempt): Promise<void> {
    for (const count of [this.#pair, this.#address]) {
      const { consumedPoints, msBeforeNext } = await count.limiter.penalty(count.keyOf(attempt));
      if (consumedPoints === count.policy.quota) this.#report(attempt, count.policy, msBeforeNext);
      if (consumedPoints > count.policy.quota) throw tooManyRequests([{ policy: count.policy, msBeforeNext }]);
    }
  }

  /**
   * Clears the failures of the pair. Not those of the address: one password that is right would pay for
   * any number of guesses at others.
   *
   * @throws Problem too_many_requests where it was admitted, and the limit was reached while it waited its turn.
   */
  async succeeded(attempt: LoginAttempt): Promise<void> {
    if ((await this.#failuresOf(attempt)) > 0) await this.#pair.limiter.delete(this.#pair.keyOf(attempt));
  }

  /** @returns the failures of the pair. */
  async #failuresOf(attempt: LoginAttempt): Promise<number> {
    for (const { policy, limiter, keyOf } of [this.#address, this.#pair]) {
      const found = await limiter.get(keyOf(attempt));
      if (found && found.consumedPoints >= policy.quota)
        throw tooManyRequests([{ policy, msBeforeNext: found.msBeforeNext }]);
      if (policy === this.#pair.policy) return found?.consumedPoints ?? 0;
    }
    return 0;
  }

  /** Once for each lock-out: when the last failure that the limit allows is counted. */
  #report({ email, address }: LoginAttempt, policy: RateLimitPolicy, msBeforeNext: number): void {
    this.#log.warn({
      event: 'login_locked_out',
      limit: policy.name,
      network: networkOf(address),
      ...(policy === this.#pair.policy && { email: masked(email) }),
      seconds: Math.ceil(msBeforeNext / 1000),
    });
  }
}

/** Enough to recognise a merchant's e-mail by, not enough to write to it. */
function masked(email: string): string {
  const at = email.lastIndexOf('@');
  return `${at > 2 ? email[0] : ''}***${email.slice(at)}`;
}
