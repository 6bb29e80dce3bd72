import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ID, TABLE_OPTIONS, word } from '../src/database/migration-steps.js';

/** The counters of the rate limits, which all instances share, and the record of what operators changed. */
export class CreateRateLimitsAndAuditLog1763640000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // rate-limiter-flexible needs this order of the columns.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS rate_limits (
        \`key\`  CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        points INT NOT NULL,
        expire BIGINT UNSIGNED NULL,
        PRIMARY KEY (\`key\`),
        INDEX ix_rate_limits_expire (expire)
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS audit_log (
        id          ${ID} NOT NULL,
        command     ${word()} NOT NULL,
        operator    VARCHAR(200) NOT NULL,
        host        VARCHAR(200) NOT NULL,
        details     JSON NOT NULL,
        outcome     ${word()} NOT NULL,
        started_at  DATETIME(3) NOT NULL,
        finished_at DATETIME(3) NULL,
        PRIMARY KEY (id)
      ) ${TABLE_OPTIONS}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['audit_log', 'rate_limits']) await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}
