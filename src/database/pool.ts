import mysql2 from 'mysql2';
import type { DataSource } from 'typeorm';
import { isReadOnly } from './errors.js';
import { applySettings, type ConnectionLimits } from './session-settings.js';

/** TypeORM and this file use mysql2's callback API. */
type Pool = mysql2.Pool;
type Connection = mysql2.PoolConnection;
type Handover = (error: NodeJS.ErrnoException | null, connection: Connection) => void;

/**
 * Returns mysql2 as TypeORM's `driver`, whose pools close four gaps of mysql2 3:
 *
 * - A pool has no hook to prepare a new connection before its first use. Here, every connection has its session
 *   settings before it is handed out.
 * - `getConnection` of a full pool waits without a limit. Here, it fails with POOL_EXHAUSTED if no connection was
 *   opened or handed out for `stalledMs`.
 * - A query that times out leaves its connection in the pool, where the next statement waits for the old result. Here,
 *   the connection is destroyed.
 * - `pool.query` drops a connection whose server turned read-only, but `getConnection` keeps it. Here, it is destroyed
 *   and all others that are open are retired, because after a failover only new connections reach the writer.
 */
export function driverFor(limits: ConnectionLimits): typeof mysql2 {
  const createPool = (options: mysql2.PoolOptions): Pool => preparedPool(mysql2.createPool(options), limits);
  return { ...mysql2, createPool: createPool as typeof mysql2.createPool };
}

const loads = new WeakMap<Pool, PoolLoad>();

function preparedPool(pool: Pool, limits: ConnectionLimits): Pool {
  const load = new PoolLoad();
  loads.set(pool, load);
  let movedAt = 0;
  const preparing = new WeakMap<Connection, Promise<void>>();
  pool.on('connection', (connection: Connection) => {
    movedAt = performance.now();
    load.opened(connection);
    dropUnusable(withOnePromiseApi(connection), load);
    preparing.set(connection, prepare(connection, limits));
  });
  pool.on('acquire', (connection: Connection) => load.acquired(connection));
  pool.on('release', (connection: Connection) => load.released(connection));

  const acquire = pool.getConnection.bind(pool) as (handover: Handover) => void;
  pool.getConnection = ((handover: Handover) => {
    const finish = load.wait(handover);
    const since = performance.now();
    const stopWatching = whenStalled(
      () => Math.max(movedAt, since) + limits.stalledMs,
      () => finish(failure('POOL_EXHAUSTED', 'no database connection became free')),
    );
    acquire((error, connection) => {
      stopWatching();
      if (error) return finish(error);
      movedAt = performance.now();
      const prepared = preparing.get(connection);
      if (!prepared) return finish(null, connection);
      preparing.delete(connection);
      prepared.then(
        () => finish(null, connection),
        (unprepared: Error) => {
          load.drop(connection);
          finish(unprepared);
        },
      );
    });
  }) as Pool['getConnection'];
  return pool;
}

/**
 * Calls `stalled` once the deadline, which may move, has passed.
 *
 * @param deadline returns the current deadline, in milliseconds of `performance.now()`.
 * @returns a function that cancels the timer.
 */
function whenStalled(deadline: () => number, stalled: () => void): () => void {
  const check = (): void => {
    const left = deadline() - performance.now();
    if (left > 0) timer = setTimeout(check, left);
    else stalled();
  };
  let timer = setTimeout(check, deadline() - performance.now());
  return () => clearTimeout(timer);
}

function prepare(connection: Connection, limits: ConnectionLimits): Promise<void> {
  const prepared = applySettings(connection, limits);
  // `getConnection` handles a failure later. Until then, it must not count as unhandled.
  prepared.catch(() => undefined);
  return prepared;
}

/**
 * Keeps the promise API of a connection. TypeORM asks for it on each statement, and mysql2 would load its module again
 * and create an object each time, which takes 3 % of the CPU time of an order.
 */
function withOnePromiseApi(connection: Connection): Connection {
  const api = connection.promise();
  connection.promise = () => api;
  return connection;
}

type Done = (error: NodeJS.ErrnoException | null, ...results: unknown[]) => void;

/**
 * Destroys the connection when a statement on it times out or fails because its server is read-only. The latter also
 * retires the other connections: they may belong to the same server, where each would fail once and reads are stale.
 */
function dropUnusable(connection: Connection, load: PoolLoad): void {
  const query = connection.query.bind(connection) as (...parts: unknown[]) => unknown;
  connection.query = ((statement: string | { sql: string; timeout?: number }, ...rest: unknown[]) => {
    const done = rest.at(-1);
    if (typeof done !== 'function') return query(statement, ...rest);
    const { sql, timeout } = typeof statement === 'string' ? { sql: statement, timeout: undefined } : statement;
    let isOver = false;
    const finish: Done = (error, ...results) => {
      clearTimeout(timer);
      if (isOver) return;
      isOver = true;
      if (isReadOnly(error)) {
        load.drop(connection);
        load.retireAll();
      }
      (done as Done)(error, ...results);
    };
    const timer =
      timeout === undefined
        ? undefined
        : setTimeout(() => {
            load.drop(connection);
            finish(failure('PROTOCOL_SEQUENCE_TIMEOUT', 'the database did not respond in time'));
          }, timeout);
    return query(sql, ...rest.slice(0, -1), finish);
  }) as typeof connection.query;
}

const failure = (code: string, message: string): NodeJS.ErrnoException => Object.assign(new Error(message), { code });

type PoolFigures = Record<'in_use' | 'idle' | 'waiting', number>;

/** Knows the connections of a pool by its public events, because mysql2 lists and counts none. */
class PoolLoad {
  readonly #open = new Set<Connection>();
  readonly #inUse = new Set<Connection>();
  #waiting = 0;

  get figures(): PoolFigures {
    return { in_use: this.#inUse.size, idle: this.#open.size - this.#inUse.size, waiting: this.#waiting };
  }

  opened(connection: Connection): void {
    this.#open.add(connection);
    for (const event of ['end', 'error']) connection.once(event, () => this.closed(connection));
  }

  closed(connection: Connection): void {
    this.#open.delete(connection);
    this.#inUse.delete(connection);
  }

  acquired(connection: Connection): void {
    this.#inUse.add(connection);
  }

  released(connection: Connection): void {
    this.#inUse.delete(connection);
  }

  drop(connection: Connection): void {
    connection.destroy();
    this.closed(connection);
  }

  /** Closes idle connections now, and those in use when they are released, so that no transaction is interrupted. */
  retireAll(): void {
    for (const connection of this.#open) {
      if (this.#inUse.has(connection)) connection.release = () => this.drop(connection);
      else this.drop(connection);
    }
  }

  /** Wraps the handover so that it is called once. A connection that arrives later is returned to the pool. */
  wait(handover: Handover): (error: NodeJS.ErrnoException | null, connection?: Connection) => void {
    this.#waiting++;
    let isOver = false;
    return (error, connection) => {
      if (isOver) return void connection?.release();
      isOver = true;
      this.#waiting--;
      handover(error, connection as Connection);
    };
  }
}

/** Returns the number of connections of a DataSource by state, and the number of requests that wait for one. */
export function poolFigures(dataSource: DataSource): PoolFigures {
  const { pool } = dataSource.driver as unknown as { pool: Pool };
  return loads.get(pool)?.figures ?? { in_use: 0, idle: 0, waiting: 0 };
}
