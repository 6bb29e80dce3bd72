import { type DynamicModule, Global, Logger, Module, type OnModuleInit } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { DomainEvents } from '../values/domain-event.js';
import { dataSourceOptions, refuseUnsafeServer, type Schema } from './data-source.js';
import { DatabaseHealth, DatabaseServer } from './database-server.js';
import { Lists } from './lists.js';
import { SharedStatements } from './shared.js';
import { UnitOfWork } from './unit-of-work.js';

/** An unresponsive server must not block a request forever. */
export const REQUEST_QUERY_TIMEOUT_MS = 3500;

/** How often, a second apart, the service tries to connect when it starts. */
const CONNECTION_ATTEMPTS = 5;

const PROVIDERS = [DomainEvents, UnitOfWork, Lists, SharedStatements, DatabaseServer, DatabaseHealth];

@Global()
@Module({ providers: PROVIDERS, exports: PROVIDERS })
export class DatabaseModule implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly server: DatabaseServer,
  ) {}

  /** @param queryTimeoutMs the time limit of a statement; without it, there is none, as for the operator's commands. */
  static with(schema: Schema, queryTimeoutMs?: number): DynamicModule {
    const typeorm = TypeOrmModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({
        ...dataSourceOptions(schema, config.DATABASE_URL, config.DATABASE_POOL_SIZE, queryTimeoutMs),
        retryAttempts: CONNECTION_ATTEMPTS,
        retryDelay: 1000,
      }),
    });
    return { module: DatabaseModule, imports: [typeorm] };
  }

  async onModuleInit(): Promise<void> {
    try {
      await refuseUnsafeServer(this.dataSource);
      await this.server.ask();
      for (const warning of this.server.warnings) new Logger('Database').warn(warning);
    } catch (error) {
      // Nothing closes an application that did not start, and its connection would keep the process of a command alive.
      await this.dataSource.destroy();
      throw error;
    }
  }
}
