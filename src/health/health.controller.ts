import { Controller, Get } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { Public } from '../http/decorators.js';
import { Unlimited } from '../http/admission.js';
import { ApiProblems } from '../openapi/decorators.js';
import { unavailable } from '../common/problem.js';
import { DatabaseHealth } from '../database/database-health.js';
import { Drain } from './drain.js';

/** The service is healthy. Otherwise the response is a problem with status 503. */
class HealthDto {
  @ApiProperty({ example: 'ok' })
  readonly status!: string;
}

const OK: HealthDto = { status: 'ok' };

@ApiTags('operation')
@Public()
@Unlimited()
@Controller('health')
export class HealthController {
  constructor(
    private readonly database: DatabaseHealth,
    private readonly drain: Drain,
  ) {}

  /**
   * Check liveness
   *
   * @remarks Returns 200 while the process runs. It does not check the database.
   */
  @Get('live')
  @ApiProblems.query()
  getLiveness(): HealthDto {
    return OK;
  }

  /**
   * Check readiness
   *
   * @remarks Returns 200 if the database is reachable and accepts changes, all migrations have been applied, and the
   * service is not shutting down. Otherwise it returns 503.
   */
  @Get('ready')
  @ApiProblems.query()
  async getReadiness(): Promise<HealthDto> {
    if (this.drain.isDraining) throw unavailable(new Error('shutting down'));
    await this.database.check().catch((error: unknown) => {
      throw unavailable(error);
    });
    return OK;
  }
}
