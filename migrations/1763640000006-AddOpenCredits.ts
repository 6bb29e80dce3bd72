import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasColumn } from '../src/database/migration-checks.js';

const FORGET_EXPRESSION =
  "DELETE FROM typeorm_metadata WHERE `schema` = DATABASE() AND `table` = 'cashback_credits' AND name = 'is_open'";

/**
 * A customer's spent credits are never deleted, and every new order adds up the open ones. An index that contains
 * `is_open` skips the spent ones.
 */
export class AddOpenCredits1763640000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasColumn(runner, 'cashback_credits', 'is_open'))) {
      await runner.query(`
        ALTER TABLE cashback_credits
          ADD COLUMN is_open TINYINT AS (remaining_cents > 0) STORED AFTER remaining_cents,
          DROP INDEX ix_cashback_credits_wallet,
          ADD INDEX ix_cashback_credits_wallet (wallet_id, is_open, expires_at, available_at, remaining_cents)`);
    }
    // TypeORM compares the entity with this row, because servers do not return an expression exactly as it was written.
    await runner.query(FORGET_EXPRESSION);
    await runner.query(
      "INSERT INTO typeorm_metadata (type, `schema`, `table`, name, value) VALUES ('GENERATED_COLUMN', DATABASE(), 'cashback_credits', 'is_open', 'remaining_cents > 0')",
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(FORGET_EXPRESSION);
    if (!(await hasColumn(runner, 'cashback_credits', 'is_open'))) return;
    await runner.query(`
      ALTER TABLE cashback_credits
        DROP INDEX ix_cashback_credits_wallet,
        ADD INDEX ix_cashback_credits_wallet (wallet_id, expires_at, available_at, remaining_cents),
        DROP COLUMN is_open`);
  }
}
