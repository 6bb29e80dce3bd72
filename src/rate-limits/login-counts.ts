import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { RateLimitPolicy } from './policies.js';

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

/**
 * A policy and its key in `rate_limits`, followed by the keys that instances with another secret use for the same
 * subject.
 */
export interface Counter {
  policy: RateLimitPolicy;
  keys: [string, ...string[]];
}

/** A count, and the remaining time of its window. */
export interface Count {
  points: number;
  msLeft: number;
}

const NOTHING: Count = { points: 0, msLeft: 0 };

/**
 * The login counts, rows of `rate_limits` that all instances share. A window counts as over if it has ended, or if more
 * than its length remains because the database's clock was set back.
 */
@Injectable()
export class LoginCounts {
  constructor(private readonly unitOfWork: UnitOfWork) {}

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
    const windowMs = Math.max(...counters.map(({ policy }) => policy.windowSeconds)) * 1000;
    // Every transaction locks its rows in the same order.
    const keys = counters.map(({ keys: [own] }) => own).sort();
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
  async restart({ keys: [own], policy }: Counter): Promise<void> {
    const windowMs = policy.windowSeconds * 1000;
    await this.unitOfWork.statement((manager) => manager.query(RESTART_SQL, [own, windowMs, windowMs]));
  }

  async clear({ keys }: Counter): Promise<void> {
    await this.unitOfWork.statement((manager) => manager.query('DELETE FROM rate_limits WHERE `key` IN (?)', [keys]));
  }
}

async function countsOf(manager: EntityManager, counters: Counter[]): Promise<Count[]> {
  const rows = await manager.query<{ key: string; points: number; ms_left: number | string }[]>(READ_SQL, [
    counters.flatMap(({ keys }) => keys),
  ]);
  return counters.map(({ keys, policy }) =>
    rows
      .filter((row) => keys.includes(row.key))
      .map(({ points, ms_left }): Count => ({ points, msLeft: Number(ms_left) }))
      .filter(({ msLeft }) => msLeft > 0 && msLeft <= policy.windowSeconds * 1000)
      .reduce(
        (sum, { points, msLeft }) => ({ points: sum.points + points, msLeft: Math.max(sum.msLeft, msLeft) }),
        NOTHING,
      ),
  );
}
