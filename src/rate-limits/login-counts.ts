import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { RateLimitPolicy } from './policies.js';

/** The database's clock, in milliseconds since 1970: the clocks of instances may differ by any amount. */
const NOW_MS = 'CAST(UNIX_TIMESTAMP() AS SIGNED) * 1000';
const READ_SQL = `SELECT \`key\`, points, CAST(expire AS SIGNED) - ${NOW_MS} AS ms_left FROM rate_limits WHERE \`key\` IN (?)`;
/** The columns are assigned from left to right, so both conditions see the window that was stored. */
const IS_RUNNING = `expire > ${NOW_MS} AND expire <= ${NOW_MS} + ?`;
const ADD_SQL = `
  ON DUPLICATE KEY UPDATE
    points = IF(${IS_RUNNING}, points + 1, 1),
    expire = IF(${IS_RUNNING}, expire, ${NOW_MS} + ?)`;
const KEEP_SQL = `
  INSERT INTO rate_limits (\`key\`, points, expire) VALUES (?, 1, ${NOW_MS} + ?)
  ON DUPLICATE KEY UPDATE points = 1, expire = ${NOW_MS} + ?`;
/** More than one failure adds, so that the table holds running windows and little else. */
const SWEEP_SQL = `DELETE FROM rate_limits WHERE expire < ${NOW_MS} ORDER BY expire LIMIT 20`;

/** What a policy counts: its key in `rate_limits`, and the keys under which instances with another secret count the same. */
export interface Counter {
  policy: RateLimitPolicy;
  keys: [string, ...string[]];
}

/** A count, and how long its window still runs. */
export interface Count {
  points: number;
  msLeft: number;
}

const NOTHING: Count = { points: 0, msLeft: 0 };

/**
 * The counts of logins, which all instances share: rows of `rate_limits`. A window that ended, or that ends later than
 * its length from now (the database's clock was set back), counts as over.
 */
@Injectable()
export class LoginCounts {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /** @returns the current count of each counter, in their order. */
  read(counters: Counter[]): Promise<Count[]> {
    return this.unitOfWork.statement((manager) => countsOf(manager, counters));
  }

  /**
   * Adds one to each counter; all have windows of the same length.
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
    // Where a window starts, old ones make room for it. What this one can't remove, the next one does.
    if (counts.some(({ points }) => points === 1))
      await this.unitOfWork.statement((manager) => manager.query(SWEEP_SQL)).catch(() => undefined);
    return counts;
  }

  /** Starts a window of one point, or starts it again. */
  async restart({ keys: [own], policy }: Counter): Promise<void> {
    const windowMs = policy.windowSeconds * 1000;
    await this.unitOfWork.statement((manager) => manager.query(KEEP_SQL, [own, windowMs, windowMs]));
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
