import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The counters of the rate limits, which all instances share. rate-limiter-flexible needs this order of the columns.
 */
export class CreateRateLimits1763640000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS rate_limits (
        \`key\`  CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        points INT NOT NULL,
        expire BIGINT UNSIGNED NULL,
        PRIMARY KEY (\`key\`),
        INDEX ix_rate_limits_expire (expire)
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS rate_limits');
  }
}
