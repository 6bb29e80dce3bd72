import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { DatabaseKind } from '../database/database-kind.js';
import { DatabaseHealth, DatabaseServer } from '../database/database-server.js';
import { Unlimited } from '../http/admission.js';
import { Public } from '../http/decorators.js';
import { Problem, unavailable } from '../values/problem.js';
import { Drain } from './drain.js';

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
