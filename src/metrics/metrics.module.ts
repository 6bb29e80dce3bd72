import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { SECOND_MS } from '../common/clock.js';
import { DomainEvents } from '../common/domain-event.js';
import { DatabaseServer } from '../database/database-server.js';
import { SharedStatements } from '../database/shared-statements.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { Admission } from '../http/admission.js';
import { RateLimiter } from '../rate-limits/rate-limiter.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { MetricsController } from './metrics.controller.js';
import { Metrics } from './metrics.js';

@Global()
@Module({ imports: [RateLimitsModule], controllers: [MetricsController], providers: [Metrics], exports: [Metrics] })
export class MetricsModule implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly events: DomainEvents,
    private readonly unitOfWork: UnitOfWork,
    private readonly server: DatabaseServer,
    private readonly shared: SharedStatements,
    private readonly admission: Admission,
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
    this.metrics.gauge('http_requests', 'Requests running and waiting for their turn', () => this.admission.load);
  }
}
