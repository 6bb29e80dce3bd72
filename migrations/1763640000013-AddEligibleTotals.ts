import type { MigrationInterface, QueryRunner } from 'typeorm';
import { alterOrders } from '../src/database/alter-orders.js';
import { hasColumn } from '../src/database/migration-checks.js';

/**
 * Orders say which part of their total is eligible for cashback, and keep the dates of the cashback that they granted,
 * because days are calendar days now. NULL means as before: the whole total, and days of 24 hours.
 */
export class AddEligibleTotals1763640000013 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const isDone = await hasColumn(runner, 'orders', 'eligible_total_cents');
    await alterOrders(
      runner,
      'ADD COLUMN eligible_total_cents BIGINT NULL, ADD COLUMN cashback_available_at DATETIME(3) NULL, ADD COLUMN cashback_expires_at DATETIME(3) NULL',
      isDone,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    const isDone = !(await hasColumn(runner, 'orders', 'eligible_total_cents'));
    await alterOrders(
      runner,
      'DROP COLUMN eligible_total_cents, DROP COLUMN cashback_available_at, DROP COLUMN cashback_expires_at',
      isDone,
    );
  }
}
