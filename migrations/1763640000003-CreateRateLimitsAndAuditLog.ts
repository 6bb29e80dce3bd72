import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ID, makeAppendOnly, TABLE_OPTIONS, word } from '../src/platform/database/migrations.js';

/** The counters of the rate limits, which all instances share, and the record of what operators changed. */
export class CreateRateLimitsAndAuditLog1763640000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS rate_limits (
        \`key\`       CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        kind        ${word()} NOT NULL,
        api_user_id ${ID} NULL,
        points      INT NOT NULL,
        expire      BIGINT UNSIGNED NOT NULL,
        PRIMARY KEY (\`key\`),
        INDEX ix_rate_limits_expire (expire),
        INDEX ix_rate_limits_api_user (api_user_id)
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS audit_log (
        id          ${ID} NOT NULL,
        outcome     ${word()} NOT NULL,
        command     ${word()} NOT NULL,
        operator    VARCHAR(200) NOT NULL,
        host        VARCHAR(200) NOT NULL,
        details     JSON NOT NULL,
        recorded_at DATETIME(3) NOT NULL,
        PRIMARY KEY (id, outcome)
      ) ${TABLE_OPTIONS}`);
    await makeAppendOnly(runner, 'audit_log');
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['audit_log', 'rate_limits']) await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}
