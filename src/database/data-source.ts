import type { DataSourceOptions } from 'typeorm';
import { driver } from './pool.js';

/** The tables of the service: `src/schema.ts` lists them. */
export type Schema = Required<Pick<DataSourceOptions, 'entities' | 'migrations'>>;

/**
 * The one description of the database: for the service, for the migration commands and for the tests.
 *
 * @param schema the entities and migrations.
 * @param url `mysql://…` or `mariadb://…`; the scheme chooses TypeORM's dialect.
 * @param poolSize connections of this process at the most.
 */
export function dataSourceOptions(schema: Schema, url: string, poolSize: number): DataSourceOptions {
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  return {
    type: protocol === 'mariadb:' ? 'mariadb' : 'mysql',
    driver,
    host: hostname,
    port: Number(port || 3306),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    charset: 'utf8mb4',
    // A stack for every statement, kept in case that it fails, costs more than most statements.
    trace: false,
    // Instants travel and rest in UTC, whatever the zone of the server or of this machine.
    timezone: 'Z',
    bigNumberStrings: false,
    synchronize: false,
    migrationsRun: false,
    connectTimeout: 3000,
    logging: false,
    // TypeORM's own logger would print a slow query with its parameters: documents in the clear.
    logger: 'debug',
    poolSize,
    extra: { queueLimit: 5000, enableKeepAlive: true },
    ...schema,
  };
}
