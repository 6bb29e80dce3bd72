import { Injectable, Logger } from '@nestjs/common';
import { DomainEvents } from '../common/domain-event.js';
import { networkOf } from '../common/network.js';
import { Config } from '../config/config.js';
import { type Count, type Counter, LoginCounts } from './login-counts.js';
import { KNOWN_NETWORK, loginNetworkQuota, loginQuota, loginUserQuota, tooManyRequests } from './quotas.js';

/** A login that is within the limits, so that its password may be compared. */
export interface LoginAttempt {
  email: string;
  /** Null if no user has the email. */
  apiUserId: string | null;
  network: string;
  /** The counters of a failure: user and network, network, and user if the network is new to it. */
  counters: [Counter, ...Counter[]];
  knownNetwork: Counter;
}

/**
 * Limits failed logins per user and network, per network, and per user over all networks that are new to the user.
 * Failures from other networks never count against a network that the user logs in from, so that strangers can't lock a
 * merchant out.
 */
@Injectable()
export class LoginLimit {
  readonly #log = new Logger('Security');

  constructor(
    private readonly config: Config,
    private readonly counts: LoginCounts,
    private readonly events: DomainEvents,
  ) {}

  /** Checks the limits before the expensive password comparison. @param email in its canonical form. */
  async admit(email: string, apiUserId: string | null, address: string | undefined): Promise<LoginAttempt> {
    const network = networkOf(address);
    const [userAndNetwork] = this.counts.countersOf(loginQuota(this.config), apiUserId, email, network);
    const [byNetwork] = this.counts.countersOf(loginNetworkQuota(this.config), null, network);
    const [byUser] = this.counts.countersOf(loginUserQuota(this.config), apiUserId, email);
    // After a change of JWT_SECRET, counts restart, but a network stays known while its key's secret is accepted.
    const knownNetworks = this.counts.countersOf(KNOWN_NETWORK, apiUserId, email, network);
    const counts = await this.counts.read([userAndNetwork, byNetwork, byUser, ...knownNetworks]);
    const isKnownNetwork = counts.slice(3).some(({ points }) => points > 0);
    refuseIfUsedUp(counts.slice(0, isKnownNetwork ? 2 : 3));
    const counters: LoginAttempt['counters'] = [userAndNetwork, byNetwork, ...(isKnownNetwork ? [] : [byUser])];
    return { email, apiUserId, network, counters, knownNetwork: knownNetworks[0] };
  }

  /**
   * Also throws too_many_requests if concurrent attempts exceeded the limit after this one was admitted, so that no
   * more guesses than the limit allows get an answer.
   */
  async failed(attempt: LoginAttempt): Promise<void> {
    const counts = await this.counts.add(attempt.counters);
    for (const count of counts) this.#reportLockout(attempt, count);
    refuseIfUsedUp(counts, 1);
  }

  /**
   * Clears the failures of the user on this network, and marks the network as known. The other counts stay, so that one
   * valid login does not allow further guesses at other users' passwords.
   */
  async succeeded({ counters, knownNetwork }: LoginAttempt): Promise<void> {
    const counts = await this.counts.read(counters);
    refuseIfUsedUp(counts);
    if ((counts[0]?.points ?? 0) > 0) await this.counts.clear(counters[0]);
    await this.counts.restart(knownNetwork);
  }

  /** Logs a lockout once, when the last failure that the limit allows is counted. */
  #reportLockout({ email, apiUserId, network }: LoginAttempt, { quota, points, msLeft }: Count): void {
    if (points !== quota.limit) return;
    this.events.publish({ type: 'login.locked_out', limit: quota.name });
    this.#log.warn({
      event: 'login_locked_out',
      limit: quota.name,
      ...(quota.name !== 'login-user' && { network }),
      ...(quota.name !== 'login-network' && { email: masked(email), api_user_id: apiUserId }),
      seconds: Math.ceil(msLeft / 1000),
    });
  }
}

/** @param own the points that the caller's own failure has just added. */
function refuseIfUsedUp(counts: Count[], own = 0): void {
  const usedUp = counts.find(({ quota, points }) => points - own >= quota.limit);
  if (usedUp !== undefined) throw tooManyRequests([usedUp]);
}

/** Keeps enough to recognize a merchant's email, but not the address itself. */
function masked(email: string): string {
  const at = email.lastIndexOf('@');
  return `${at > 2 ? email[0] : ''}***${email.slice(at)}`;
}
