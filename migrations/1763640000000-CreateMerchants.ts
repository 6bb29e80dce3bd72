import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Merchants with their cashback policies, and their API users. */
export class CreateMerchants1763640000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS merchants (
        id         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        name       VARCHAR(200) NOT NULL,
        policy     JSON NOT NULL,
        created_at DATETIME(3) NOT NULL,
        PRIMARY KEY (id)
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS api_users (
        id            CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        merchant_id   CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        email         VARCHAR(254) NOT NULL,
        password_hash CHAR(60) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        disabled_at   DATETIME(3) NULL,
        created_at    DATETIME(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_api_users_email (email),
        INDEX ix_api_users_merchant (merchant_id),
        CONSTRAINT fk_api_users_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS api_users');
    await runner.query('DROP TABLE IF EXISTS merchants');
  }
}
