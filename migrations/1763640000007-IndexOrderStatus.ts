import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasColumn, hasIndex } from '../src/database/migration-checks.js';

/** Identical to the entity's expression, because TypeORM compares it with `typeorm_metadata`. */
const LIFETIME_BUCKET =
  "IF(status = 'pending', TRUNCATE(TIMESTAMPDIFF(MINUTE, created_at, expires_at), 2 - LENGTH(TIMESTAMPDIFF(MINUTE, created_at, expires_at))), 0)";

/**
 * The index for `GET /orders?status=`. Among pending orders with the same lifetime, expiry depends only on
 * `created_at`, so the index sorts pending orders by lifetime and then by `created_at`. The column is virtual: it takes
 * no space in the table, and adding it rewrites no rows. Both statements run while orders are written.
 */
export class IndexOrderStatus1763640000007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await forgetExpression(runner);
    await runner.query(
      "INSERT INTO typeorm_metadata (type, `schema`, `table`, name, value) VALUES ('GENERATED_COLUMN', DATABASE(), 'orders', 'lifetime_bucket', ?)",
      [LIFETIME_BUCKET],
    );
    if (!(await hasColumn(runner, 'orders', 'lifetime_bucket')))
      await runner.query(
        `ALTER TABLE orders ADD COLUMN lifetime_bucket BIGINT AS (${LIFETIME_BUCKET}) VIRTUAL, ALGORITHM = INSTANT`,
      );
    if (!(await hasIndex(runner, 'orders', 'ix_orders_status')))
      await runner.query(`
        ALTER TABLE orders
          ADD INDEX ix_orders_status (merchant_id, status, lifetime_bucket, created_at, id, expires_at),
          ALGORITHM = INPLACE, LOCK = NONE`);
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasIndex(runner, 'orders', 'ix_orders_status'))
      await runner.query('ALTER TABLE orders DROP INDEX ix_orders_status, ALGORITHM = INPLACE, LOCK = NONE');
    if (await hasColumn(runner, 'orders', 'lifetime_bucket'))
      await runner.query('ALTER TABLE orders DROP COLUMN lifetime_bucket, ALGORITHM = INSTANT');
    await forgetExpression(runner);
  }
}

async function forgetExpression(runner: QueryRunner): Promise<void> {
  await runner.query(
    "DELETE FROM typeorm_metadata WHERE `schema` = DATABASE() AND `table` = 'orders' AND name = 'lifetime_bucket'",
  );
}
