import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasIndex } from '../src/database/migration-checks.js';

/**
 * The index of `GET /orders?completed_from=`, for each status of a completed order. It is built while orders are
 * written.
 */
export class IndexOrderCompletions1763640000016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasIndex(runner, 'orders', 'ix_orders_completion')))
      await runner.query(`
        ALTER TABLE orders ADD INDEX ix_orders_completion (merchant_id, status, completed_at, id),
          ALGORITHM = INPLACE, LOCK = NONE`);
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasIndex(runner, 'orders', 'ix_orders_completion'))
      await runner.query('ALTER TABLE orders DROP INDEX ix_orders_completion, ALGORITHM = INPLACE, LOCK = NONE');
  }
}
