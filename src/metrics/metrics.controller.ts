import { Controller, Get, Header, UseGuards } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import { Public } from '../http/decorators.js';
import { Unlimited } from '../http/admission.js';
import { ApiProblems } from '../openapi/decorators.js';
import { Metrics } from './metrics.js';
import { MetricsTokenGuard } from './metrics-token.guard.js';

@ApiTags('operation')
@Public()
@Unlimited()
@UseGuards(MetricsTokenGuard)
@Controller('metrics')
export class MetricsController {
  #collecting: Promise<string> | undefined;

  constructor(private readonly metrics: Metrics) {}

  /**
   * Metrics for Prometheus
   *
   * @remarks Returns requests by route and status, orders, cashback, problems by code, the connection pool and
   * the event loop. Send `METRICS_TOKEN` as a bearer token if it is configured.
   */
  @Get()
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  @ApiProduces('text/plain')
  @ApiOkResponse({ description: 'Prometheus text format', schema: { type: 'string' } })
  @ApiProblems('missing_token', 'invalid_token')
  getMetrics(): Promise<string> {
    // Requests at the same time share one collection, which takes milliseconds.
    this.#collecting ??= this.metrics.registry.metrics().finally(() => (this.#collecting = undefined));
    return this.#collecting;
  }
}
