import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { DataSourceOptions } from 'typeorm';
import { Config } from '../config/config.js';
import { dataSourceOptions, type Schema } from './data-source.js';
import { DirectDataSource } from './direct-data-source.js';
import { UnitOfWork } from './unit-of-work.js';

/** A server that has stopped answering must not hold a request for ever. */
export const REQUEST_QUERY_TIMEOUT_MS = 3500;

@Global()
@Module({ providers: [UnitOfWork], exports: [UnitOfWork] })
export class DatabaseModule {
  /**
   * @param schema the entities and migrations.
   * @param queryTimeoutMs how long a query may take; without it, as long as it takes: the operator's may be long.
   */
  static with(schema: Schema, queryTimeoutMs?: number): DynamicModule {
    const timeout =
      queryTimeoutMs === undefined ? {} : { maxQueryExecutionTime: queryTimeoutMs, enableQueryTimeout: true };
    const typeorm = TypeOrmModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({
        ...dataSourceOptions(schema, config.DATABASE_URL, config.DATABASE_POOL_SIZE),
        ...timeout,
        retryAttempts: 5,
        retryDelay: 1000,
      }),
      dataSourceFactory: (options) => Promise.resolve(new DirectDataSource(options as DataSourceOptions)),
    });
    return { module: DatabaseModule, imports: [typeorm] };
  }
}
