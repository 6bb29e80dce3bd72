import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { MINUTE_MS } from '../common/clock.js';

const EVERY_MS = 5 * MINUTE_MS;
/** The clocks of other instances may be behind: what they still count is left alone. */
const GRACE_MS = MINUTE_MS;
/** At once; one statement over everything would hold many locks. */
const BATCH = 1000;
const SWEEP_SQL = 'DELETE FROM rate_limits WHERE expire < ? ORDER BY expire LIMIT ?';

/** Removes the counts whose window is over, so that the table holds those of the last minutes and no more. */
@Injectable()
export class RateLimitSweeper implements OnApplicationBootstrap, OnApplicationShutdown {
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly dataSource: DataSource) {}

  onApplicationBootstrap(): void {
    // What fails now is done by the next one, or by another instance.
    this.#timer = setInterval(() => void this.sweep().catch(() => undefined), EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  /** @returns how many were removed. */
  async sweep(): Promise<number> {
    for (let removed = 0; ;) {
      const { affectedRows } = await this.dataSource.query<{ affectedRows: number }>(SWEEP_SQL, [
        Date.now() - GRACE_MS,
        BATCH,
      ]);
      removed += affectedRows;
      if (affectedRows < BATCH) return removed;
    }
  }
}
