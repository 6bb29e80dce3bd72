import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasColumn } from '../src/database/migration-checks.js';

/**
 * A wallet keeps the instant until which no date changes its available balance. Until then, an order needs only the
 * wallet's row. The number of the entry tells if an older release, which does not know the instant, wrote the wallet.
 */
export class AddNextBalanceChange1763640000012 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasColumn(runner, 'wallets', 'available_until')))
      await runner.query(`
        ALTER TABLE wallets
          ADD COLUMN available_until DATETIME(3) NULL AFTER available_seq,
          ADD COLUMN available_until_seq BIGINT NULL AFTER available_until,
          ALGORITHM = INSTANT`);
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasColumn(runner, 'wallets', 'available_until'))
      await runner.query('ALTER TABLE wallets DROP COLUMN available_until, DROP COLUMN available_until_seq');
  }
}
