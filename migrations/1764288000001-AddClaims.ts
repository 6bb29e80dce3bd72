import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasColumn } from '../src/platform/database/migrations.js';

/** How much refunds have claimed of what others hold of the credit that their order earned. */
export class AddClaims1764288000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasColumn(runner, 'cashback_credits', 'claimed_cents')))
      await runner.query(
        'ALTER TABLE cashback_credits ADD COLUMN claimed_cents BIGINT NOT NULL DEFAULT 0, ALGORITHM = INSTANT',
      );
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasColumn(runner, 'cashback_credits', 'claimed_cents'))
      await runner.query('ALTER TABLE cashback_credits DROP COLUMN claimed_cents, ALGORITHM = INSTANT');
  }
}
