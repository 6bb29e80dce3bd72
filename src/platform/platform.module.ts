import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { Config } from './config/config.js';
import { DatabaseKind } from './database/database-kind.js';
import { DatabaseServer } from './database/database-server.js';
import { SharedStatements } from './database/shared.js';
import { UnitOfWork } from './database/unit-of-work.js';
import { Admission } from './http/admission.js';
import { AllowedMethods } from './http/allowed-methods.js';
import { connectRedis, RateLimiter } from './rate-limits/rate-limiter.js';
import { Drain } from './observe/drain.js';
import { HealthController } from './observe/health.controller.js';
import { MetricsController } from './observe/metrics.controller.js';
import { Metrics } from './observe/metrics.js';
import { TracingShutdown } from './observe/tracing.js';
import { DomainEvents } from './values/domain-event.js';
import { SECOND_MS } from './values/time.js';

const RATE_LIMITER = {
  provide: RateLimiter,
  inject: [Config],
  useFactory: async (config: Config) => new RateLimiter(config, await connectRedis(config.REDIS_URL)),
};

/** What all rooms use besides the configuration, the clock and the database. */
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
