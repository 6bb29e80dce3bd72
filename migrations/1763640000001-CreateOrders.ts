import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ID, NO_ACTION, TABLE_OPTIONS, word } from '../src/platform/database/migrations.js';

/**
 * Orders and their refunds. Content that is read as a whole is stored as JSON. External IDs are stored as UTF-8 bytes,
 * because every collation treats some different texts as equal.
 */
export class CreateOrders1763640000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS orders (
        id                    ${ID} NOT NULL,
        merchant_id           ${ID} NOT NULL,
        external_id           VARBINARY(400) NOT NULL,
        status                ${word()} NOT NULL,
        document              ${word(36)} NOT NULL,
        store                 VARCHAR(100) NULL,
        total_cents           BIGINT NOT NULL,
        eligible_total_cents  BIGINT NULL,
        earn_amount_cents     BIGINT NULL,
        items                 JSON NOT NULL,
        payment_methods       JSON NOT NULL,
        final_payment_methods JSON NULL,
        metadata              JSON NULL,
        policy                JSON NOT NULL,
        held_cents            BIGINT NOT NULL,
        lapsed_cents          BIGINT NOT NULL,
        redeemed_cents        BIGINT NOT NULL,
        earned_cents          BIGINT NOT NULL,
        refunded_cents        BIGINT NOT NULL,
        refunded_eligible_cents BIGINT NOT NULL,
        returned_cents        BIGINT NOT NULL,
        taken_back_cents      BIGINT NOT NULL,
        kept_cents            BIGINT NOT NULL,
        lost_cents            BIGINT NOT NULL,
        content_digest        BINARY(32) NOT NULL,
        version               INT NOT NULL,
        completed_version     INT NULL,
        created_at            DATETIME(3) NOT NULL,
        updated_at            DATETIME(3) NOT NULL,
        expires_at            DATETIME(3) NOT NULL,
        requested_expires_at  DATETIME(3) NULL,
        completed_at          DATETIME(3) NULL,
        cancelled_at          DATETIME(3) NULL,
        customer_changed_at   DATETIME(3) NULL,
        cashback_available_at DATETIME(3) NULL,
        cashback_expires_at   DATETIME(3) NULL,
        created_by            ${word(36)} NOT NULL,
        completed_by          ${word(36)} NULL,
        cancelled_by          ${word(36)} NULL,
        cancel_reason         VARCHAR(500) NULL,
        customer_changed_by   ${word(36)} NULL,
        customer_change_reason VARCHAR(500) NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_orders_merchant_external_id (merchant_id, external_id),
        INDEX ix_orders_merchant_created (merchant_id, created_at, id),
        INDEX ix_orders_status (merchant_id, status, created_at, id),
        INDEX ix_orders_customer (merchant_id, document, status, created_at, id),
        INDEX ix_orders_expiry (status, expires_at),
        INDEX ix_orders_completion (merchant_id, status, completed_at, id),
        INDEX ix_orders_updated (merchant_id, updated_at, id),
        INDEX ix_orders_store (merchant_id, store, created_at, id),
        CONSTRAINT fk_orders_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION},
        CONSTRAINT ck_orders_status CHECK (status IN ('pending', 'expired', 'completed', 'cancelled', 'partially_refunded', 'refunded')),
        CONSTRAINT ck_orders_total CHECK (total_cents > 0),
        CONSTRAINT ck_orders_held CHECK (held_cents BETWEEN 0 AND total_cents AND (held_cents = 0 OR status = 'pending')),
        CONSTRAINT ck_orders_lapsed CHECK (lapsed_cents BETWEEN 0 AND total_cents AND (lapsed_cents = 0 OR status = 'expired')),
        CONSTRAINT ck_orders_redeemed CHECK (redeemed_cents BETWEEN 0 AND total_cents AND (redeemed_cents = 0 OR completed_at IS NOT NULL)),
        CONSTRAINT ck_orders_earned CHECK (earned_cents >= 0),
        CONSTRAINT ck_orders_refunded CHECK (refunded_cents BETWEEN 0 AND total_cents),
        CONSTRAINT ck_orders_refunded_eligible CHECK (refunded_eligible_cents BETWEEN 0 AND refunded_cents),
        CONSTRAINT ck_orders_returned CHECK (returned_cents BETWEEN 0 AND redeemed_cents),
        CONSTRAINT ck_orders_taken_back CHECK (taken_back_cents BETWEEN 0 AND earned_cents),
        CONSTRAINT ck_orders_kept CHECK (kept_cents BETWEEN 0 AND earned_cents - taken_back_cents),
        CONSTRAINT ck_orders_lost CHECK (lost_cents BETWEEN 0 AND earned_cents - taken_back_cents)
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS refunds (
        id                       ${ID} NOT NULL,
        order_id                 ${ID} NOT NULL,
        merchant_id              ${ID} NOT NULL,
        external_id              VARBINARY(400) NOT NULL,
        version                  INT NOT NULL,
        amount_cents             BIGINT NOT NULL,
        eligible_cents           BIGINT NOT NULL,
        requested_eligible_cents BIGINT NULL,
        due_cents                BIGINT NOT NULL,
        requested_take_back_cents BIGINT NULL,
        returned_cents           BIGINT NOT NULL,
        taken_back_cents         BIGINT NOT NULL,
        reason                   VARCHAR(500) NULL,
        store                    VARCHAR(100) NULL,
        metadata                 JSON NULL,
        created_at               DATETIME(3) NOT NULL,
        created_by               ${word(36)} NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_refunds_order_external_id (order_id, merchant_id, external_id),
        INDEX ix_refunds_order_created (order_id, created_at, id),
        INDEX ix_refunds_merchant_created (merchant_id, created_at, id),
        CONSTRAINT fk_refunds_order FOREIGN KEY (order_id) REFERENCES orders (id) ${NO_ACTION},
        CONSTRAINT ck_refunds_amount CHECK (amount_cents > 0),
        CONSTRAINT ck_refunds_eligible CHECK (eligible_cents BETWEEN 0 AND amount_cents),
        CONSTRAINT ck_refunds_requested_eligible CHECK (requested_eligible_cents = eligible_cents),
        CONSTRAINT ck_refunds_returned CHECK (returned_cents BETWEEN 0 AND amount_cents),
        CONSTRAINT ck_refunds_requested_take_back CHECK (requested_take_back_cents = due_cents),
        CONSTRAINT ck_refunds_taken_back CHECK (taken_back_cents BETWEEN 0 AND due_cents)
      ) ${TABLE_OPTIONS}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['refunds', 'orders']) await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}
