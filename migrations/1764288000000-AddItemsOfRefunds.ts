import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasColumn } from '../src/platform/database/migrations.js';

/** A refund keeps which items it returned, and whether it returned the rest of the total. */
export class AddItemsOfRefunds1764288000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasColumn(runner, 'refunds', 'returned_items')))
      await runner.query('ALTER TABLE refunds ADD COLUMN returned_items JSON NULL, ALGORITHM = INSTANT');
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasColumn(runner, 'refunds', 'returned_items'))
      await runner.query('ALTER TABLE refunds DROP COLUMN returned_items, ALGORITHM = INSTANT');
  }
}
