import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { Public } from '../auth/caller.js';
import { ApiProblems } from '../common/api-problems.js';
import { Problem } from '../common/problem.js';
import { HealthDto } from './health.dto.js';

const OK: HealthDto = { status: 'ok' };

@ApiTags('operation')
@Public()
@Controller('health')
export class HealthController {
  constructor(private readonly dataSource: DataSource) {}

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
   * @remarks The database is reachable and every migration has been applied; else 503.
   */
  @Get('ready')
  @ApiProblems()
  async ready(): Promise<HealthDto> {
    const applied = await this.dataSource.query<{ name: string }[]>('SELECT name FROM migrations').catch((error: unknown) => {
      throw new Problem('unavailable', { cause: error });
    });
    const names = new Set(applied.map(({ name }) => name));
    const missing = this.dataSource.migrations.filter(({ name, constructor }) => !names.has(name ?? constructor.name));
    if (missing.length > 0) throw new Problem('unavailable', { cause: new Error(`${missing.length} migrations are not applied`) });
    return OK;
  }
}
