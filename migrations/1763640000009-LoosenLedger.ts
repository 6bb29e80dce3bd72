import type { MigrationInterface, QueryRunner } from 'typeorm';
import { alterOrders } from '../src/database/alter-orders.js';
import { hasColumn, hasConstraint } from '../src/database/migration-checks.js';

/**
 * Removes the foreign key from entries to orders: an entry that released the lapsed hold of another order locked that
 * order's row, which violates the lock order. `reconcile` finds entries without an order instead. Orders get a digest
 * of their original content, so that a replay is recognized after the customer was erased.
 */
export class LoosenLedger1763640000009 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (await hasConstraint(runner, 'cashback_entries', 'fk_cashback_entries_order'))
      await runner.query(
        'ALTER TABLE cashback_entries DROP FOREIGN KEY fk_cashback_entries_order, ALGORITHM = INPLACE, LOCK = NONE',
      );
    const isDone = await hasColumn(runner, 'orders', 'content_digest');
    await alterOrders(runner, 'ADD COLUMN content_digest BINARY(32) NULL', isDone);
  }

  async down(runner: QueryRunner): Promise<void> {
    const isDone = !(await hasColumn(runner, 'orders', 'content_digest'));
    await alterOrders(runner, 'DROP COLUMN content_digest', isDone);
    if (!(await hasConstraint(runner, 'cashback_entries', 'fk_cashback_entries_order'))) await addForeignKey(runner);
  }
}

/** With checks, the server would copy the table and block writes. */
async function addForeignKey(runner: QueryRunner): Promise<void> {
  await runner.query('SET SESSION foreign_key_checks = 0');
  try {
    await runner.query(`
      ALTER TABLE cashback_entries
        ADD CONSTRAINT fk_cashback_entries_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        ALGORITHM = INPLACE, LOCK = NONE`);
  } finally {
    await runner.query('SET SESSION foreign_key_checks = 1');
  }
}
