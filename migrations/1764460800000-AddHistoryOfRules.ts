import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasIndex, ID, word } from '../src/platform/database/migrations.js';

/** Each merchant's rules have a first version, and rules for some days are campaigns with an ID and a name. */
export class AddHistoryOfRules1764460800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      INSERT INTO policy_bases (merchant_id, version, policy, stored_at, stored_by)
      SELECT m.id, m.policy_version, m.policy, m.created_at, 'operator' FROM merchants m
       WHERE NOT EXISTS (SELECT 1 FROM policy_bases b WHERE b.merchant_id = m.id)`);
    await runner.query(`
      UPDATE policy_versions
         SET id = UUID(), name = CONCAT(from_day, ' to ', through_day), created_by = 'operator',
             ended_by = IF(ended_at IS NULL, NULL, 'operator')
       WHERE id IS NULL`);
    await runner.query(
      `ALTER TABLE policy_versions MODIFY id ${ID} NOT NULL, MODIFY name VARCHAR(100) NOT NULL, MODIFY created_by ${word(36)} NOT NULL`,
    );
    if (!(await hasIndex(runner, 'policy_versions', 'ix_policy_versions_id')))
      await runner.query(
        'ALTER TABLE policy_versions ADD INDEX ix_policy_versions_id (merchant_id, id, stored_at), ALGORITHM = INPLACE, LOCK = NONE',
      );
  }

  async down(runner: QueryRunner): Promise<void> {
    if (await hasIndex(runner, 'policy_versions', 'ix_policy_versions_id'))
      await runner.query(
        'ALTER TABLE policy_versions DROP INDEX ix_policy_versions_id, ALGORITHM = INPLACE, LOCK = NONE',
      );
    await runner.query(
      `ALTER TABLE policy_versions MODIFY id ${ID} NULL, MODIFY name VARCHAR(100) NULL, MODIFY created_by ${word(36)} NULL`,
    );
  }
}
