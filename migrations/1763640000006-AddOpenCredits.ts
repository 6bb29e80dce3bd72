import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A customer's spent credits stay for ever, and every new order adds up what is open: an index that knows
 * which ones are passes over ten thousand spent credits as over none.
 */
export class AddOpenCredits1763640000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE cashback_credits
        ADD COLUMN is_open TINYINT AS (remaining_cents > 0) STORED AFTER remaining_cents,
        DROP INDEX ix_cashback_credits_wallet,
        ADD INDEX ix_cashback_credits_wallet (wallet_id, is_open, expires_at, available_at, remaining_cents)`);
    // No server gives an expression back as it was written, so TypeORM compares what it finds here.
    await runner.query(
      "INSERT INTO typeorm_metadata (type, `schema`, `table`, name, value) VALUES ('GENERATED_COLUMN', DATABASE(), 'cashback_credits', 'is_open', 'remaining_cents > 0')",
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query("DELETE FROM typeorm_metadata WHERE `table` = 'cashback_credits' AND name = 'is_open'");
    await runner.query(`
      ALTER TABLE cashback_credits
        DROP INDEX ix_cashback_credits_wallet,
        ADD INDEX ix_cashback_credits_wallet (wallet_id, expires_at, available_at, remaining_cents),
        DROP COLUMN is_open`);
  }
}
