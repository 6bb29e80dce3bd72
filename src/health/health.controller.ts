import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../http/decorators.js';
import { Unlimited } from '../http/admission.js';
import { unavailable } from '../common/problem.js';
import { DatabaseHealth } from '../database/database-health.js';
import { DatabaseKind } from './database-kind.js';
import { Drain } from './drain.js';

/** The service is healthy. Otherwise the response is a problem with status 503. */
const OK = { status: 'ok' };

@ApiExcludeController()
@Public()
@Unlimited()
@Controller('health')
export class HealthController {
  constructor(
    private readonly database: DatabaseHealth,
    private readonly kind: DatabaseKind,
    private readonly drain: Drain,
  ) {}

  /** Returns 200 while the process runs. It does not check the database. */
  @Get('live')
  getLiveness(): typeof OK {
    return OK;
  }

  /**
   * Returns 200 if the database is reachable and accepts changes, all migrations have been applied, and the
   * service is not shutting down. Otherwise it returns 503.
   */
  @Get('ready')
  async getReadiness(): Promise<typeof OK> {
    if (this.drain.isDraining) throw unavailable(new Error('shutting down'));
    try {
      await this.database.check();
      await this.kind.check();
    } catch (error) {
      throw unavailable(error);
    }
    return OK;
  }
}
