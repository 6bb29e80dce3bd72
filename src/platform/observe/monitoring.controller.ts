import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  Injectable,
  UseGuards,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { type Request } from 'express';
import { createHash, timingSafeEqual } from 'node:crypto';
import { Config } from '../config/config.js';
import { DatabaseHealth, DatabaseKind, DatabaseServer } from '../database/database-server.js';
import { Unlimited } from '../http/admission.js';
import { bearerTokenOf } from '../http/app-request.js';
import { Public } from '../http/decorators.js';
import { Drain } from '../http/http-server.js';
import { Problem, unavailable } from '../values/problem.js';
import { Metrics } from './metrics.js';

/** The service is healthy. Otherwise the response is a problem with status 503. */
const OK: { status: string; warnings?: string[] } = { status: 'ok' };

@ApiExcludeController()
@Public()
@Unlimited()
@Controller('health')
export class HealthController {
  constructor(
    private readonly database: DatabaseHealth,
    private readonly server: DatabaseServer,
    private readonly kind: DatabaseKind,
    private readonly drain: Drain,
  ) {}

  /** Returns 200 while the process runs. It does not check the database. */
  @Get('live')
  getLiveness(): typeof OK {
    return OK;
  }

  /**
   * Returns 200 if the database is reachable, accepts changes and has the time of this machine, all migrations have
   * been applied, and the service is not shutting down. Otherwise it returns 503.
   */
  @Get('ready')
  async getReadiness(): Promise<typeof OK> {
    if (this.drain.isDraining) throw unavailable(new Error('shutting down'));
    try {
      await this.database.check();
      await this.kind.check();
    } catch (error) {
      throw error instanceof Problem ? error : unavailable(error);
    }
    const { warnings } = this.server;
    return warnings.length === 0 ? OK : { ...OK, warnings };
  }
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="metrics"' };

/** Requires METRICS_TOKEN as a bearer token, if it is configured. */
@Injectable()
class MetricsTokenGuard implements CanActivate {
  constructor(private readonly config: Config) {}

  canActivate(context: ExecutionContext): boolean {
    const { METRICS_TOKEN: expected } = this.config;
    if (expected === undefined) return true;
    const request = context.switchToHttp().getRequest<Request>();
    if (request.headers.authorization === undefined) throw new Problem('missing_token', { headers: CHALLENGE });
    const given = bearerTokenOf(request) ?? '';
    // Digests have the same length, which `timingSafeEqual` requires.
    if (!timingSafeEqual(digestOf(given), digestOf(expected)))
      throw new Problem('invalid_token', { headers: CHALLENGE });
    return true;
  }
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

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
