import mysql2, { type PoolOptions } from 'mysql2';
import { type DataSource, type DataSourceOptions } from 'typeorm';
import { parseDatabaseUrl } from '../config/database-url.js';

/** The time limit for each of the statements that prepare a connection. */
const TIMEOUT_MS = 3000;

/** Time limits of a connection. They are short for requests; the operator's commands and migrations have more time. */
interface ConnectionLimits {
  /** Milliseconds after which the server interrupts a statement; 0 means never. MySQL only interrupts SELECT. */
  statementMs: number;
  /** Seconds that a statement waits for another one that changes the table's definition. */
  tableLockSeconds: number;
}

/**
 * A Galera node first applies what other nodes have committed: before a transaction, and before each SELECT, UPDATE,
 * DELETE and INSERT outside of one. Otherwise a request to another instance does not find what the last response
 * confirmed. Servers without Galera do not know the variable.
 */
const WAIT_FOR_OTHER_NODES = 'SET SESSION wsrep_sync_wait = @@SESSION.wsrep_sync_wait | 7';

/** ER_UNKNOWN_SYSTEM_VARIABLE */
const UNKNOWN_VARIABLE = 1193;

/** A connection is prepared while it is handed out, so the preparation is kept until its first use. */
const preparations = new WeakMap<object, Promise<void>>();

/** Creates a pool whose connections do not depend on the server's defaults. */
export function createPool(options: PoolOptions, limits: ConnectionLimits): mysql2.Pool {
  const pool = mysql2.createPool(options);
  pool.on('connection', (connection) => {
    const preparation = prepare(connection, limits);
    // A failure is thrown by `prepared`.
    preparation.catch(() => undefined);
    preparations.set(connection, preparation);
  });
  return pool;
}

/**
 * Waits until a connection of the pool has its settings. mysql2 runs statements in order, so they come first even for
 * callers that do not wait; but if they fail, statements that already wait behind them get no answer.
 */
export async function prepared(connection: mysql2.PoolConnection): Promise<void> {
  try {
    await preparations.get(connection);
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function prepare(connection: mysql2.PoolConnection, limits: ConnectionLimits): Promise<void> {
  const query = (sql: string): Promise<unknown> => connection.promise().query({ sql, timeout: TIMEOUT_MS });
  const settings = query(sessionSettings(limits));
  const waiting = query(WAIT_FOR_OTHER_NODES).catch((error: NodeJS.ErrnoException) => {
    if (error.errno !== UNKNOWN_VARIABLE) throw error;
  });
  await Promise.all([settings, waiting]);
}

/**
 * Returns the statement that sets all session variables: a connection has all of the settings or none.
 *
 * Only MySQL executes `/*!80000 … *\/`, and only MariaDB executes `/*M! … *\/`: the names of the settings depend on the
 * server and not on the URL's scheme.
 */
function sessionSettings({ statementMs, tableLockSeconds }: ConnectionLimits): string {
  const both = [
    'SET NAMES utf8mb4',
    'SESSION autocommit = 1',
    "completion_type = 'NO_CHAIN'",
    "sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
    "time_zone = '+00:00'",
    "lc_messages = 'en_US'",
    'foreign_key_checks = 1',
    'unique_checks = 1',
    'sql_safe_updates = 0',
    'sql_auto_is_null = 0',
    'sql_select_limit = 18446744073709551615',
    'sql_big_selects = 1',
    'group_concat_max_len = 1048576',
    // Shorter than the client's timeout, so that the use case can be retried.
    'innodb_lock_wait_timeout = 2',
    `lock_wait_timeout = ${tableLockSeconds}`,
  ];
  const mysql = [
    "transaction_isolation = 'READ-COMMITTED'",
    'transaction_read_only = 0',
    `max_execution_time = ${statementMs}`,
  ];
  const mariadb = [
    "tx_isolation = 'READ-COMMITTED'",
    'tx_read_only = 0',
    'check_constraint_checks = 1',
    `max_statement_time = ${statementMs / 1000}`,
  ];
  return `${both.join(', ')} /*!80000 , ${mysql.join(', ')} */ /*M! , ${mariadb.join(', ')} */`;
}

export type Schema = Required<Pick<DataSourceOptions, 'entities' | 'migrations'>>;

/**
 * The use cases that may wait for a connection; the next one gets a 503 at once. The edge lets some 500 requests in,
 * and each has at most two use cases at a time.
 */
const MAX_WAITING = 1000;

/** How long before the client's timeout the server interrupts a statement. */
const SERVER_BEFORE_CLIENT_MS = 500;

/** @param queryTimeoutMs the time limit of a statement; without it, there is none. */
export function dataSourceOptions(
  schema: Schema,
  url: string,
  poolSize: number,
  queryTimeoutMs?: number,
): DataSourceOptions {
  const limits =
    queryTimeoutMs === undefined
      ? { statementMs: 0, tableLockSeconds: 10 }
      : { statementMs: queryTimeoutMs - SERVER_BEFORE_CLIENT_MS, tableLockSeconds: 2 };
  return {
    // For either server: what TypeORM writes for this type, MariaDB knows too, except locks for reading.
    type: 'mysql',
    ...parseDatabaseUrl(url),
    driver: { createPool: (options: PoolOptions) => createPool(options, limits) },
    charset: 'utf8mb4',
    // Otherwise TypeORM captures a stack for each statement, which costs more than most statements.
    trace: false,
    // Instants are sent and stored in UTC, independent of the time zones of the server and of this machine.
    timezone: 'Z',
    bigNumberStrings: false,
    synchronize: false,
    migrationsRun: false,
    connectTimeout: 3000,
    logging: false,
    // TypeORM's default logger prints slow queries with their parameters, which include documents.
    logger: 'debug',
    poolSize,
    ...(queryTimeoutMs !== undefined && { maxQueryExecutionTime: queryTimeoutMs, enableQueryTimeout: true }),
    extra: { queueLimit: MAX_WAITING, enableKeepAlive: true },
    ...schema,
  };
}

/** TiDB accepts FOR UPDATE SKIP LOCKED and locks nothing, so two instances would do the same work. */
export async function refuseUnsafeServer(dataSource: DataSource): Promise<void> {
  const [row] = await dataSource.query<{ version: string }[]>('SELECT VERSION() AS version');
  if (/tidb/i.test(row?.version ?? ''))
    throw new Error('the database is TiDB, which ignores the row locks of the service: use MySQL or MariaDB');
}
