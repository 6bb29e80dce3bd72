import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Batches } from '../database/batches.js';
import { poolFigures } from '../database/pool.js';
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
    private readonly dataSource: DataSource,
    private readonly unitOfWork: UnitOfWork,
    private readonly batches: Batches,
    private readonly admission: Admission,
    private readonly rateLimiter: RateLimiter,
  ) {}

  onModuleInit(): void {
    this.unitOfWork.onCommit = (event) => this.metrics.count(event);
    this.unitOfWork.onRetry = (reason) => this.metrics.databaseRetried(reason);
    this.batches.onSend = (kind, keys) => this.metrics.batchSent(kind, keys);
    this.rateLimiter.onStoreFailure.push(() => this.metrics.rateLimitStoreFailed());
    this.metrics.gauge(
      'database_pool_connections',
      'Database connections in use and idle, and requests waiting for one',
      () => poolFigures(this.dataSource),
    );
    this.metrics.gauge('http_requests', 'Requests running and waiting for their turn', () => ({
      ...this.admission.load,
    }));
  }
}
