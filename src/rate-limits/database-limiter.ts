import { RateLimiterMySQL } from 'rate-limiter-flexible';
import type { LimiterClient } from './sql-client.js';

/** A window's milliseconds fit into so many bits: 2^20 are 17 minutes. What is left of 53 is for the points. */
const MS_BITS = 20;
const MOST_MS = 2 ** MS_BITS - 1;

/**
 * Adds the points, in the window that runs or in a new one, and says what came of it by way of LAST_INSERT_ID: the
 * count in the upper bits, the milliseconds that are left below. A row that was not there yet leaves it at 0.
 */
const ADD_SQL = `
  INSERT INTO ?? (\`key\`, points, expire) VALUES (?, ?, ?)
  ON DUPLICATE KEY UPDATE
    points = LAST_INSERT_ID(IF(? OR expire <= ?, ? << ${MS_BITS} | ?, (points + ?) << ${MS_BITS} | LEAST(expire - ?, ${MOST_MS}))) >> ${MS_BITS},
    expire = IF(? OR expire <= ?, ?, expire)`;

/**
 * rate-limiter-flexible's limiter for MySQL, with one statement where the library takes four: begin, add, read,
 * commit. An order waits for them.
 */
export class DatabaseLimiter extends RateLimiterMySQL {
  constructor(
    private readonly sql: LimiterClient,
    private readonly table: string,
    options: Omit<ConstructorParameters<typeof RateLimiterMySQL>[0], 'storeClient' | 'storeType' | 'tableName'>,
  ) {
    super({ ...options, storeClient: sql, storeType: 'pool', tableName: table });
    if (options.duration * 1000 > MOST_MS) throw new RangeError(`a window is at most ${MOST_MS} ms`);
  }

  /** What the library asks of a store when points are added. @returns the key's row, as a SELECT would. */
  async _upsert(
    key: string,
    points: number,
    msDuration: number,
    isNewWindow = false,
  ): Promise<[{ points: number; expire: number }]> {
    const now = Date.now();
    const expire = now + msDuration;
    const values = [
      this.table,
      key,
      points,
      expire,
      isNewWindow,
      now,
      points,
      msDuration,
      points,
      now,
      isNewWindow,
      now,
      expire,
    ];
    const { insertId } = await this.sql.query<{ insertId: number }>(ADD_SQL, values);
    return [
      insertId === 0
        ? { points, expire }
        : { points: Math.floor(insertId / 2 ** MS_BITS), expire: now + (insertId % 2 ** MS_BITS) },
    ];
  }
}
