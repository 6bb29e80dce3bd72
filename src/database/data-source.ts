import type { PoolOptions } from 'mysql2';
import type { DataSource, DataSourceOptions } from 'typeorm';
import { parseDatabaseUrl } from '../config/database-url.js';
import { createPool } from './connections.js';

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
