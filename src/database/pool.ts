import mysql2 from 'mysql2';
import type { DataSource } from 'typeorm';

/** What TypeORM and we use of a mysql2 pool (its callback flavour). */
type Pool = mysql2.Pool;
type Handover = (error: NodeJS.ErrnoException | null, connection: mysql2.PoolConnection) => void;

/** How long a request waits while no connection at all is handed out. */
const STALLED_AFTER_MS = 900;

/**
 * Each connection's own settings, whatever the server's defaults are. A lock that does not come is given up
 * by the server before our own time-out for a query, so that the use case can be run anew.
 */
const SESSION_SETTINGS = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  'SET SESSION innodb_lock_wait_timeout = 2',
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

/**
 * mysql2 as TypeORM's driver, with what it lacks:
 *
 * - every new connection has our settings;
 * - a query has the time-out it asks for, and a connection on which one timed out is destroyed: whatever came after it
 *   would wait for that answer;
 * - who waits for a connection of a full pool is told so (POOL_EXHAUSTED) instead of hanging for ever.
 *   As long as the pool moves, waiting is right: the deadline counts from the last hand-over;
 * - a connection is wrapped for promises once, and not anew for every statement.
 */
export const driver = {
  ...mysql2,
  createPool(options: mysql2.PoolOptions): Pool {
    const pool = mysql2.createPool(options);
    pool.on('connection', (connection) => {
      for (const setting of SESSION_SETTINGS) connection.query(setting);
      keepTimeouts(connection);
      wrapOnce(connection);
    });
    const waitForOne = pool.getConnection.bind(pool) as (handover: Handover) => void;
    let movedAt = Date.now();
    pool.getConnection = ((handover: Handover) => {
      if (figuresOf(pool).idle > 0) {
        movedAt = Date.now();
        return waitForOne(handover);
      }
      let late = false;
      const since = Date.now();
      const check = (): void => {
        const left = Math.max(movedAt, since) + STALLED_AFTER_MS - Date.now();
        if (left > 0) {
          timer = setTimeout(check, left);
          return;
        }
        late = true;
        handover(
          Object.assign(new Error('no database connection became free'), { code: 'POOL_EXHAUSTED' }),
          undefined as never,
        );
      };
      let timer = setTimeout(check, STALLED_AFTER_MS);
      waitForOne((error, connection) => {
        clearTimeout(timer);
        if (error === null || error === undefined) movedAt = Date.now();
        if (!late) handover(error, connection);
        else if (!error) connection.release();
      });
    }) as Pool['getConnection'];
    return pool;
  },
};

/** A statement that may take `timeout` milliseconds; without it, as long as it takes. */
interface Statement {
  sql: string;
  timeout?: number | undefined;
}
type Done = (error: NodeJS.ErrnoException | null, ...results: unknown[]) => void;

/** mysql2's own time-out leaves a connection that is of no use, and copies what it is handed so that V8 can optimise nothing after it. */
function keepTimeouts(connection: mysql2.PoolConnection): void {
  const query = connection.query.bind(connection) as (...parts: unknown[]) => unknown;
  connection.query = ((statement: string | Statement, ...rest: unknown[]) => {
    if (typeof statement === 'string' || statement.timeout === undefined) return query(statement, ...rest);
    const done = rest.pop() as Done;
    let isOver = false;
    const finish: Done = (error, ...results) => {
      clearTimeout(timer);
      if (!isOver) done(error, ...results);
      isOver = true;
    };
    const timer = setTimeout(() => {
      connection.destroy();
      finish(Object.assign(new Error('the database did not answer in time'), { code: 'PROTOCOL_SEQUENCE_TIMEOUT' }));
    }, statement.timeout);
    return query(statement.sql, ...rest, finish);
  }) as typeof connection.query;
}

function wrapOnce(connection: mysql2.PoolConnection): void {
  const wrapped = connection.promise();
  connection.promise = () => wrapped;
}

type PoolFigures = Record<'in_use' | 'idle' | 'waiting', number>;

/** How the connections of a DataSource are doing. */
export function poolFigures(dataSource: DataSource): PoolFigures {
  return figuresOf((dataSource.driver as unknown as { pool: Pool }).pool);
}

/** mysql2 keeps that to itself, under these names. */
function figuresOf(pool: Pool): PoolFigures {
  const {
    _allConnections: all,
    _freeConnections: free,
    _connectionQueue: queue,
  } = pool as unknown as Record<'_allConnections' | '_freeConnections' | '_connectionQueue', { length: number }>;
  return { in_use: all.length - free.length, idle: free.length, waiting: queue.length };
}
