import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Orders and their refunds. Content that never changes is stored as JSON. External IDs are stored as UTF-8 bytes,
 * because every collation treats some different texts as equal.
 */
export class CreateOrders1763640000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS orders (
        id                    CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        merchant_id           CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        external_id           VARBINARY(400) NOT NULL,
        status                VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        document              VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        total_cents           BIGINT NOT NULL,
        items                 JSON NOT NULL,
        payment_methods       JSON NOT NULL,
        final_payment_methods JSON NULL,
        policy                JSON NOT NULL,
        redemption_cents      BIGINT NOT NULL,
        earned_cents          BIGINT NOT NULL,
        refunded_cents        BIGINT NOT NULL,
        returned_cents        BIGINT NOT NULL,
        clawed_back_cents     BIGINT NOT NULL,
        created_at            DATETIME(3) NOT NULL,
        expires_at            DATETIME(3) NOT NULL,
        completed_at          DATETIME(3) NULL,
        cancelled_at          DATETIME(3) NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_orders_merchant_external_id (merchant_id, external_id),
        INDEX ix_orders_merchant_created (merchant_id, created_at, id),
        CONSTRAINT fk_orders_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT ck_orders_status CHECK (status IN ('pending', 'completed', 'cancelled', 'partially_refunded', 'refunded')),
        CONSTRAINT ck_orders_total CHECK (total_cents > 0),
        CONSTRAINT ck_orders_redemption CHECK (redemption_cents BETWEEN 0 AND total_cents),
        CONSTRAINT ck_orders_earned CHECK (earned_cents >= 0),
        CONSTRAINT ck_orders_refunded CHECK (refunded_cents BETWEEN 0 AND total_cents),
        CONSTRAINT ck_orders_returned CHECK (returned_cents BETWEEN 0 AND redemption_cents),
        CONSTRAINT ck_orders_clawed_back CHECK (clawed_back_cents BETWEEN 0 AND earned_cents)
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS refunds (
        id                CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        order_id          CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        external_id       VARBINARY(400) NOT NULL,
        amount_cents      BIGINT NOT NULL,
        returned_cents    BIGINT NOT NULL,
        clawed_back_cents BIGINT NOT NULL,
        created_at        DATETIME(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_refunds_order_external_id (order_id, external_id),
        CONSTRAINT fk_refunds_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT ck_refunds_amount CHECK (amount_cents > 0),
        CONSTRAINT ck_refunds_returned CHECK (returned_cents BETWEEN 0 AND amount_cents),
        CONSTRAINT ck_refunds_clawed_back CHECK (clawed_back_cents >= 0)
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS refunds');
    await runner.query('DROP TABLE IF EXISTS orders');
  }
}
