import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import { Public } from '../http/caller.js';
import { ApiProblems } from '../http/api-problems.js';
import { Metrics } from './metrics.js';

@ApiTags('operation')
@Public()
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  /**
   * Figures for Prometheus
   *
   * @remarks Requests by route and status, orders, cashback, refusals by code, the connection pool, the event loop.
   */
  @Get()
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  @ApiProduces('text/plain')
  @ApiOkResponse({ description: 'Prometheus text format', schema: { type: 'string' } })
  @ApiProblems()
  read(): Promise<string> {
    return this.metrics.registry.metrics();
  }
}
