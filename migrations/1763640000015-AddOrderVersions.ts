import type { MigrationInterface, QueryRunner } from 'typeorm';
import { alterOrders } from '../src/database/alter-orders.js';
import { hasColumn } from '../src/database/migration-checks.js';

/**
 * The version of an order and the instant of its last change. Existing orders have version 1 and no such instant; the
 * latest of their other instants stands for it.
 */
export class AddOrderVersions1763640000015 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const isDone = await hasColumn(runner, 'orders', 'version');
    await alterOrders(
      runner,
      'ADD COLUMN version INT NOT NULL DEFAULT 1, ADD COLUMN updated_at DATETIME(3) NULL',
      isDone,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    const isDone = !(await hasColumn(runner, 'orders', 'version'));
    await alterOrders(runner, 'DROP COLUMN version, DROP COLUMN updated_at', isDone);
  }
}
