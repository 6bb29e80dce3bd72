import { Injectable, Logger } from '@nestjs/common';
import { type KeyObject } from 'node:crypto';
import { Column, Entity, type EntityManager, In, Index, MoreThan, Not, PrimaryColumn } from 'typeorm';
import { Config } from '../platform/config/config.js';
import { networkOf } from '../platform/config/network.js';
import { IdColumn, WordColumn } from '../platform/database/columns.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import {
  counterKey,
  counterSecrets,
  KNOWN_NETWORK,
  loginNetworkQuota,
  loginQuota,
  loginUserQuota,
  type Quota,
  tooManyRequests,
} from '../platform/rate-limits/rate-limiter.js';
import { DomainEvents } from '../platform/values/domain-event.js';

/** The database's clock, in milliseconds since 1970, because the clocks of instances may differ. */
const NOW_MS = 'CAST(UNIX_TIMESTAMP() AS SIGNED) * 1000';
const READ_SQL = `SELECT \`key\`, points, CAST(expire AS SIGNED) - ${NOW_MS} AS ms_left FROM rate_limits WHERE \`key\` IN (?)`;
/** The columns are assigned from left to right, so both conditions see the window that was stored. */
const IS_RUNNING = `expire > ${NOW_MS} AND expire <= ${NOW_MS} + ?`;
const ADD_SQL = `
  ON DUPLICATE KEY UPDATE
    points = IF(${IS_RUNNING}, points + 1, 1),
    expire = IF(${IS_RUNNING}, expire, ${NOW_MS} + ?)`;
const INSERT = 'INSERT INTO rate_limits (`key`, kind, api_user_id, points, expire) VALUES';
const ROW = `(?, ?, ?, 1, ${NOW_MS} + ?)`;
const RESTART_SQL = `
  ${INSERT} ${ROW}
  ON DUPLICATE KEY UPDATE points = 1, expire = ${NOW_MS} + ?`;
/** Deletes more rows than one failure adds, so that the table does not grow. */
const SWEEP_SQL = `DELETE FROM rate_limits WHERE expire < ${NOW_MS} ORDER BY expire LIMIT 20`;

/** A quota, the key of its count in `rate_limits`, and the user that is counted, if it is known and not its network. */
interface Counter {
  quota: Quota;
  key: string;
  apiUserId: string | null;
}

interface Count {
  quota: Quota;
  points: number;
  msLeft: number;
}

/**
 * The login counts, rows of `rate_limits` that all instances share. A window counts as over if it has ended, or if more
 * than its length remains because the database's clock was set back.
 */
@Injectable()
export class LoginCounts {
  readonly #secrets: [KeyObject, ...KeyObject[]];

  constructor(
    private readonly unitOfWork: UnitOfWork,
    config: Config,
  ) {
    this.#secrets = counterSecrets(config);
  }

  /** The counter of a subject, followed by those that instances with another JWT_SECRET use for it. */
  countersOf(quota: Quota, apiUserId: string | null, ...subject: string[]): [Counter, ...Counter[]] {
    const [current, ...previous] = this.#secrets;
    const counterWith = (secret: KeyObject): Counter => ({ quota, key: counterKey(secret, quota, subject), apiUserId });
    return [counterWith(current), ...previous.map(counterWith)];
  }

  read(counters: Counter[]): Promise<Count[]> {
    return this.unitOfWork.statement((manager) => countsOf(manager, counters));
  }

  /** Increments each counter. All must have windows of the same length. */
  async add(counters: Counter[]): Promise<Count[]> {
    const windowMs = Math.max(...counters.map(({ quota }) => quota.windowSeconds)) * 1000;
    // Every transaction locks its rows in the same order.
    const sorted = counters.toSorted((one, other) => (one.key < other.key ? -1 : 1));
    const rows = sorted.map(() => ROW).join(', ');
    const counts = await this.unitOfWork.transaction(async (manager) => {
      await manager.query(`${INSERT} ${rows} ${ADD_SQL}`, [
        ...sorted.flatMap((counter) => valuesOf(counter, windowMs)),
        windowMs,
        windowMs,
        windowMs,
      ]);
      return countsOf(manager, counters);
    });
    // When a window starts, old ones are deleted. If that fails, the next start deletes them.
    if (counts.some(({ points }) => points === 1))
      await this.unitOfWork.statement((manager) => manager.query(SWEEP_SQL)).catch(() => undefined);
    return counts;
  }

  async restart(counter: Counter): Promise<void> {
    const windowMs = counter.quota.windowSeconds * 1000;
    const values = [...valuesOf(counter, windowMs), windowMs];
    await this.unitOfWork.statement((manager) => manager.query(RESTART_SQL, values));
  }

  /** Only windows that run. They need no key, so any JWT_SECRET will do. */
  failuresOf(manager: EntityManager, apiUserIds: readonly string[]): Promise<RateLimit[]> {
    return manager.findBy(RateLimit, { ...ofUsers(apiUserIds), expire: MoreThan(Date.now()) });
  }

  async forgetFailuresOf(apiUserId: string): Promise<void> {
    await this.unitOfWork.statement((manager) => manager.delete(RateLimit, ofUsers([apiUserId])));
  }

  async clear({ key }: Counter): Promise<void> {
    await this.unitOfWork.statement((manager) => manager.query('DELETE FROM rate_limits WHERE `key` = ?', [key]));
  }
}

const ofUsers = (ids: readonly string[]) => ({ apiUserId: In(ids), kind: Not(KNOWN_NETWORK.name) });

const valuesOf = ({ key, quota, apiUserId }: Counter, windowMs: number): unknown[] => [
  key,
  quota.name,
  apiUserId,
  windowMs,
];

async function countsOf(manager: EntityManager, counters: Counter[]): Promise<Count[]> {
  const rows = await manager.query<{ key: string; points: number; ms_left: number | string }[]>(READ_SQL, [
    counters.map(({ key }) => key),
  ]);
  return counters.map(({ key, quota }) => {
    const row = rows.find((stored) => stored.key === key);
    const msLeft = Number(row?.ms_left ?? 0);
    const isRunning = msLeft > 0 && msLeft <= quota.windowSeconds * 1000;
    return row !== undefined && isRunning ? { quota, points: row.points, msLeft } : { quota, points: 0, msLeft: 0 };
  });
}

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

/** A count of logins, or a network that a user has logged in from. `LoginCounts` reads and writes these rows. */
@Entity('rate_limits')
@Index('ix_rate_limits_expire', ['expire'])
@Index('ix_rate_limits_api_user', ['apiUserId'])
export class RateLimit {
  /** HMAC-SHA-256 in hexadecimal, so that the table contains no emails and no addresses. */
  @PrimaryColumn({ name: 'key', type: 'char', length: 64, charset: 'ascii', collation: 'ascii_bin' })
  key!: string;

  @WordColumn('kind')
  kind!: string;

  /** The user whose logins are counted; null for those of a network, and of an email that no user has. */
  @IdColumn('api_user_id', { nullable: true })
  apiUserId!: string | null;

  @Column({ name: 'points', type: 'int' })
  points!: number;

  /** The end of the window by the database's clock, in milliseconds since 1970. */
  @Column({ name: 'expire', type: 'bigint', unsigned: true })
  expire!: number;
}
