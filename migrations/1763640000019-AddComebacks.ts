import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasColumn } from '../src/database/migration-checks.js';

/**
 * An expired credit comes back once, until the end of a calendar day. The credit keeps its first expiry, and a hold
 * keeps the date until which its amount would be available. NULL means as before: the credit has not come back under
 * this rule, and the amount of the hold comes back for 7 days of 24 hours.
 */
export class AddComebacks1763640000019 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasColumn(runner, 'cashback_credits', 'original_expires_at')))
      await runner.query(
        'ALTER TABLE cashback_credits ADD COLUMN original_expires_at DATETIME(3) NULL, ALGORITHM = INSTANT',
      );
    if (!(await hasColumn(runner, 'cashback_holds', 'comes_back_until')))
      await runner.query(
        'ALTER TABLE cashback_holds ADD COLUMN comes_back_until DATETIME(3) NULL, ALGORITHM = INSTANT',
      );
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasColumn(runner, 'cashback_holds', 'comes_back_until'))
      await runner.query('ALTER TABLE cashback_holds DROP COLUMN comes_back_until, ALGORITHM = INSTANT');
    // Applied again without these dates, the credits could come back again. Earlier releases ignore the column.
    if ((await hasColumn(runner, 'cashback_credits', 'original_expires_at')) && !(await hasComebacks(runner)))
      await runner.query('ALTER TABLE cashback_credits DROP COLUMN original_expires_at, ALGORITHM = INSTANT');
  }
}

async function hasComebacks(runner: QueryRunner): Promise<boolean> {
  const rows: unknown = await runner.query(
    'SELECT 1 FROM cashback_credits WHERE original_expires_at IS NOT NULL LIMIT 1',
  );
  return (rows as unknown[]).length > 0;
}
