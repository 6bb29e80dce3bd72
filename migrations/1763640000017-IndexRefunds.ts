import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasIndex } from '../src/database/migration-checks.js';

/** An order's refunds are listed newest first, page by page. */
export class IndexRefunds1763640000017 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasIndex(runner, 'refunds', 'ix_refunds_order_created')))
      await runner.query(
        'ALTER TABLE refunds ADD INDEX ix_refunds_order_created (order_id, created_at, id), ALGORITHM = INPLACE, LOCK = NONE',
      );
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasIndex(runner, 'refunds', 'ix_refunds_order_created'))
      await runner.query('ALTER TABLE refunds DROP INDEX ix_refunds_order_created, ALGORITHM = INPLACE, LOCK = NONE');
  }
}
