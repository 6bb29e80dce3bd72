import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasColumn, hasIndex } from '../src/database/migration-checks.js';

/**
 * A wallet stores its available balance, so that an order only reads the credits whose dates have passed since. The two
 * indexes on credits find those credits, and the credits that a hold needs, without reading the others.
 */
export class AddWalletBalances1763640000008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasColumn(runner, 'wallets', 'available_cents')))
      await runner.query(`
        ALTER TABLE wallets
          ADD COLUMN available_cents BIGINT NULL AFTER balance_cents,
          ADD COLUMN available_as_of DATETIME(3) NULL AFTER available_cents,
          ADD COLUMN available_seq BIGINT NULL AFTER available_as_of,
          ALGORITHM = INSTANT`);
    if (!(await hasIndex(runner, 'cashback_credits', 'ix_cashback_credits_expiry')))
      await runner.query(`
        ALTER TABLE cashback_credits
          DROP INDEX ix_cashback_credits_wallet,
          ADD INDEX ix_cashback_credits_expiry (wallet_id, is_open, expires_at, id, available_at, remaining_cents),
          ADD INDEX ix_cashback_credits_release (wallet_id, is_open, available_at, expires_at, remaining_cents),
          ALGORITHM = INPLACE, LOCK = NONE`);
    if (!(await hasIndex(runner, 'cashback_holds', 'ix_cashback_holds_expiry')))
      await runner.query(`
        ALTER TABLE cashback_holds
          DROP INDEX ix_cashback_holds_wallet,
          ADD INDEX ix_cashback_holds_expiry (wallet_id, expires_at, amount_cents),
          ALGORITHM = INPLACE, LOCK = NONE`);
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasIndex(runner, 'cashback_holds', 'ix_cashback_holds_expiry'))
      await runner.query(`
        ALTER TABLE cashback_holds
          DROP INDEX ix_cashback_holds_expiry,
          ADD INDEX ix_cashback_holds_wallet (wallet_id, expires_at)`);
    if (await hasIndex(runner, 'cashback_credits', 'ix_cashback_credits_expiry'))
      await runner.query(`
        ALTER TABLE cashback_credits
          DROP INDEX ix_cashback_credits_expiry,
          DROP INDEX ix_cashback_credits_release,
          ADD INDEX ix_cashback_credits_wallet (wallet_id, is_open, expires_at, available_at, remaining_cents)`);
    if (await hasColumn(runner, 'wallets', 'available_cents'))
      await runner.query(`
        ALTER TABLE wallets DROP COLUMN available_cents, DROP COLUMN available_as_of, DROP COLUMN available_seq`);
  }
}
