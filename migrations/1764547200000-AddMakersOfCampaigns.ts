import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasColumn, word } from '../src/platform/database/migrations.js';

/** Who made a campaign, and when: its first version is deleted if it changes before it begins. */
export class AddMakersOfCampaigns1764547200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasColumn(runner, 'policy_versions', 'made_at')))
      await runner.query(
        `ALTER TABLE policy_versions ADD COLUMN made_at DATETIME(3) NULL, ADD COLUMN made_by ${word(36)} NULL, ALGORITHM = INSTANT`,
      );
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasColumn(runner, 'policy_versions', 'made_at'))
      await runner.query('ALTER TABLE policy_versions DROP COLUMN made_at, DROP COLUMN made_by');
  }
}
