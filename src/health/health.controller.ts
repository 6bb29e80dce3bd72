import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../http/caller.js';
import { SkipsQueue } from '../http/request-queue.guard.js';
import { ApiProblems } from '../http/api-problems.js';
import { unavailable } from '../common/problem.js';
import { DatabaseHealth } from '../database/database-health.js';
import { Drain } from './drain.js';
import { HealthDto } from './health.dto.js';

const OK: HealthDto = { status: 'ok' };

@ApiTags('operation')
@Public()
@SkipsQueue()
@Controller('health')
export class HealthController {
  constructor(
    private readonly database: DatabaseHealth,
    private readonly drain: Drain,
  ) {}

  /**
   * Is the process alive?
   *
   * @remarks It answers: nothing else is asked of it.
   */
  @Get('live')
  @ApiProblems()
  live(): HealthDto {
    return OK;
  }

  /**
   * Can it serve?
   *
   * @remarks The database is reachable and accepts changes, every migration has been applied, and the service is not
   * shutting down; else 503.
   */
  @Get('ready')
  @ApiProblems()
  async ready(): Promise<HealthDto> {
    if (this.drain.isDraining) throw unavailable(new Error('shutting down'));
    await this.database.check().catch((error: unknown) => {
      throw unavailable(error);
    });
    return OK;
  }
}
