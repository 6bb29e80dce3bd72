import { Controller, Get, Header, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../http/decorators.js';
import { Unlimited } from '../http/admission.js';
import { Metrics } from './metrics.js';
import { MetricsTokenGuard } from './metrics-token.guard.js';

@ApiExcludeController()
@Public()
@Unlimited()
@UseGuards(MetricsTokenGuard)
@Controller('metrics')
export class MetricsController {
  #collecting: Promise<string> | undefined;

  constructor(private readonly metrics: Metrics) {}

  /**
   * Returns metrics in the text format of Prometheus: requests by route and status, orders, cashback, problems by code,
   * the connection pool and the event loop. If METRICS_TOKEN is configured, it is required as a bearer token.
   */
  @Get()
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  getMetrics(): Promise<string> {
    // Requests at the same time share one collection, which takes milliseconds.
    this.#collecting ??= this.metrics.registry.metrics().finally(() => (this.#collecting = undefined));
    return this.#collecting;
  }
}
