import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { Public } from '../http/caller.js';
import { ApiProblems } from '../http/api-problems.js';
import { unavailable } from '../common/problem.js';
import { Drain } from './drain.js';
import { HealthDto } from './health.dto.js';

const OK: HealthDto = { status: 'ok' };

@ApiTags('operation')
@Public()
@Controller('health')
export class HealthController {
  constructor(
    private readonly dataSource: DataSource,
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
   * @remarks The database is reachable, every migration has been applied, and the service is not shutting down; else 503.
   */
  @Get('ready')
  @ApiProblems()
  async ready(): Promise<HealthDto> {
    if (this.drain.isDraining) throw unavailable(new Error('shutting down'));
    const applied = await this.dataSource
      .query<{ name: string }[]>('SELECT name FROM migrations')
      .catch((error: unknown) => {
        throw unavailable(error);
      });
    const names = new Set(applied.map(({ name }) => name));
    const missing = this.dataSource.migrations.filter(({ name, constructor }) => !names.has(name ?? constructor.name));
    if (missing.length > 0) throw unavailable(new Error(`${missing.length} migrations are not applied`));
    return OK;
  }
}
