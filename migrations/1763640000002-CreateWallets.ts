import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A customer's cashback with one merchant. */
export class CreateWallets1763640000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS wallets (
        id            CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        merchant_id   CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        document      VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        debt_cents    BIGINT NOT NULL,
        balance_cents BIGINT NOT NULL,
        last_seq      BIGINT NOT NULL,
        created_at    DATETIME(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_wallets_merchant_document (merchant_id, document),
        CONSTRAINT fk_wallets_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT ck_wallets_debt CHECK (debt_cents >= 0),
        CONSTRAINT ck_wallets_balance CHECK (balance_cents >= 0)
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS wallets');
  }
}
