import type { KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Config } from '../config/config.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { counterKey, counterSecrets, type Quota } from './quotas.js';

/** The database's clock, in milliseconds since 1970, because the clocks of instances may differ. */
const NOW_MS = 'CAST(UNIX_TIMESTAMP() AS SIGNED) * 1000';
const READ_SQL = `SELECT \`key\`, points, CAST(expire AS SIGNED) - ${NOW_MS} AS ms_left FROM rate_limits WHERE \`key\` IN (?)`;
/** The columns are assigned from left to right, so both conditions see the window that was stored. */
const IS_RUNNING = `expire > ${NOW_MS} AND expire <= ${NOW_MS} + ?`;
const ADD_SQL = `
  ON DUPLICATE KEY UPDATE
    points = IF(${IS_RUNNING}, points + 1, 1),
    expire = IF(${IS_RUNNING}, expire, ${NOW_MS} + ?)`;
const RESTART_SQL = `
  INSERT INTO rate_limits (\`key\`, points, expire) VALUES (?, 1, ${NOW_MS} + ?)
  ON DUPLICATE KEY UPDATE points = 1, expire = ${NOW_MS} + ?`;
/** Deletes more rows than one failure adds, so that the table does not grow. */
const SWEEP_SQL = `DELETE FROM rate_limits WHERE expire < ${NOW_MS} ORDER BY expire LIMIT 20`;

/** A quota, and the key of its count in `rate_limits`. */
export interface Counter {
  quota: Quota;
  key: string;
}

/** The count under a quota, and the remaining time of its window. */
export interface Count {
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

  /**
   * Returns the counter of a subject, followed by those that instances with another JWT_SECRET use for it.
   *
   * @param subject such as a user and a network.
   */
  countersOf(quota: Quota, ...subject: string[]): [Counter, ...Counter[]] {
    const [current, ...previous] = this.#secrets;
    const counterWith = (secret: KeyObject): Counter => ({ quota, key: counterKey(secret, quota, subject) });
    return [counterWith(current), ...previous.map(counterWith)];
  }

  /** @returns the current count of each counter, in the order of the counters. */
  read(counters: Counter[]): Promise<Count[]> {
    return this.unitOfWork.statement((manager) => countsOf(manager, counters));
  }

  /**
   * Increments each counter. All must have windows of the same length.
   *
   * @returns the counts including this one, in the order of the counters.
   */
  async add(counters: Counter[]): Promise<Count[]> {
    const windowMs = Math.max(...counters.map(({ quota }) => quota.windowSeconds)) * 1000;
    // Every transaction locks its rows in the same order.
    const keys = counters.map(({ key }) => key).sort();
    const rows = keys.map(() => `(?, 1, ${NOW_MS} + ?)`).join(', ');
    const counts = await this.unitOfWork.transaction(async (manager) => {
      await manager.query(`INSERT INTO rate_limits (\`key\`, points, expire) VALUES ${rows} ${ADD_SQL}`, [
        ...keys.flatMap((key) => [key, windowMs]),
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

  /** Starts or restarts a window, with a count of 1. */
  async restart({ key, quota }: Counter): Promise<void> {
    const windowMs = quota.windowSeconds * 1000;
    await this.unitOfWork.statement((manager) => manager.query(RESTART_SQL, [key, windowMs, windowMs]));
  }

  async clear({ key }: Counter): Promise<void> {
    await this.unitOfWork.statement((manager) => manager.query('DELETE FROM rate_limits WHERE `key` = ?', [key]));
  }
}

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
