import { type DynamicModule, Global, Logger, Module, type OnModuleInit } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Config } from './config/config.js';
import { dataSourceOptions, refuseUnsafeServer, type Schema } from './database/data-source.js';
import { DatabaseHealth, DatabaseKind, DatabaseServer } from './database/database-server.js';
import { SharedStatements } from './database/shared.js';
import { UnitOfWork } from './database/unit-of-work.js';
import { Admission } from './http/admission.js';
import { AllowedMethods, Drain } from './http/http-server.js';
import { Metrics } from './observe/metrics.js';
import { HealthController, MetricsController } from './observe/monitoring.controller.js';
import { TracingShutdown } from './observe/tracing.js';
import { connectRedis, RateLimiter } from './rate-limits/rate-limiter.js';
import { DomainEvents } from './values/domain-event.js';
import { SECOND_MS } from './values/time.js';

/** How often, a second apart, the service tries to connect when it starts. */
const CONNECTION_ATTEMPTS = 5;

const PROVIDERS = [DomainEvents, UnitOfWork, SharedStatements, DatabaseServer, DatabaseHealth];

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

const RATE_LIMITER = {
  provide: RateLimiter,
  inject: [Config],
  useFactory: async (config: Config) => new RateLimiter(config, await connectRedis(config.REDIS_URL)),
};

/** What all modules use besides the configuration, the clock and the database. */
@Global()
@Module({ providers: [RATE_LIMITER, Metrics], exports: [RateLimiter, Metrics] })
export class PlatformModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly events: DomainEvents,
    private readonly unitOfWork: UnitOfWork,
    private readonly server: DatabaseServer,
    private readonly shared: SharedStatements,
    private readonly rateLimiter: RateLimiter,
  ) {}

  onModuleInit(): void {
    this.events.subscribe((event) => this.metrics.count(event));
    this.unitOfWork.retries.subscribe((reason) => this.metrics.databaseRetries.inc({ reason }));
    this.shared.statements.subscribe(({ kind, keys }) => this.metrics.statementKeys.observe({ kind }, keys));
    this.rateLimiter.storeFailures.subscribe(() => this.metrics.rateLimitStoreFailures.inc());
    this.metrics.gauge(
      'database_pool_connections',
      'Database connections in use, and use cases waiting for one',
      () => this.unitOfWork.load,
    );
    this.metrics.figure(
      'database_clock_difference_seconds',
      "How far this machine's clock was ahead of the database's when they were compared last; negative if behind",
      () => this.server.aheadMs / SECOND_MS,
    );
  }
}

/** What only the service has: the command line answers no requests. */
@Module({
  controllers: [HealthController, MetricsController],
  providers: [Admission, AllowedMethods, DatabaseKind, Drain, TracingShutdown],
  exports: [Admission],
})
export class ServerModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly admission: Admission,
  ) {}

  onModuleInit(): void {
    this.metrics.gauge('http_requests', 'Requests running and waiting for their turn', () => this.admission.load);
  }
}
