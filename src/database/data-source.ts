import type { DataSourceOptions } from 'typeorm';
import { parseDatabaseUrl } from '../config/database-url.js';
import { driverFor } from './pool.js';

/** The tables of the service: `src/schema.ts` lists them. */
export type Schema = Required<Pick<DataSourceOptions, 'entities' | 'migrations'>>;

/** How much earlier the server interrupts a statement than the client stops waiting for it. */
const SERVER_BEFORE_CLIENT_MS = 500;

/**
 * The one description of the database: for the service, for migrations and for the tests.
 *
 * @param schema the entities and migrations.
 * @param url see `parseDatabaseUrl`; the scheme chooses TypeORM's dialect.
 * @param poolSize the highest number of connections of this process.
 * @param queryTimeoutMs how long a statement may take; without it, as long as it needs.
 */
export function dataSourceOptions(
  schema: Schema,
  url: string,
  poolSize: number,
  queryTimeoutMs?: number,
): DataSourceOptions {
  const limits =
    queryTimeoutMs === undefined
      ? { statementMs: 0, tableLockSeconds: 10, stalledMs: 10_000 }
      : { statementMs: queryTimeoutMs - SERVER_BEFORE_CLIENT_MS, tableLockSeconds: 2, stalledMs: 900 };
  return {
    ...parseDatabaseUrl(url),
    driver: driverFor(limits),
    charset: 'utf8mb4',
    // TypeORM would keep a stack for each statement, in case it fails: that costs more than most statements.
    trace: false,
    // Instants are sent and stored in UTC, whatever the time zone of the server or of this machine.
    timezone: 'Z',
    bigNumberStrings: false,
    synchronize: false,
    migrationsRun: false,
    connectTimeout: 3000,
    logging: false,
    // TypeORM's own logger would print a slow query with its parameters: documents in the clear.
    logger: 'debug',
    poolSize,
    ...(queryTimeoutMs !== undefined && { maxQueryExecutionTime: queryTimeoutMs, enableQueryTimeout: true }),
    extra: { queueLimit: 5000, enableKeepAlive: true },
    ...schema,
  };
}
