import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The external IDs of grants, which make a grant idempotent, and a record of each change by the operator's command
 * line.
 */
export class AddGrantsAndAuditLog1763640000011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS cashback_grants (
        credit_id              CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        merchant_id            CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        external_id            VARBINARY(400) NOT NULL,
        requested_available_at DATETIME(3) NULL,
        requested_expires_at   DATETIME(3) NULL,
        PRIMARY KEY (credit_id),
        UNIQUE INDEX uq_cashback_grants_external_id (merchant_id, external_id),
        CONSTRAINT fk_cashback_grants_credit FOREIGN KEY (credit_id) REFERENCES cashback_credits (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_cashback_grants_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS audit_log (
        id          CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        command     VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        operator    VARCHAR(200) NOT NULL,
        host        VARCHAR(200) NOT NULL,
        details     JSON NOT NULL,
        outcome     VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        started_at  DATETIME(3) NOT NULL,
        finished_at DATETIME(3) NULL,
        PRIMARY KEY (id)
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS audit_log');
    await runner.query('DROP TABLE IF EXISTS cashback_grants');
  }
}
