import type { MigrationInterface, QueryRunner } from 'typeorm';
import { closeLedgerTo } from '../src/database/create-trigger.js';

/** Credits, the holds of open orders, and the append-only ledger of all movements. */
export class CreateLedger1763640000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS cashback_credits (
        id              CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        wallet_id       CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        order_id        CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
        reason          VARCHAR(500) NULL,
        amount_cents    BIGINT NOT NULL,
        remaining_cents BIGINT NOT NULL,
        available_at    DATETIME(3) NOT NULL,
        expires_at      DATETIME(3) NOT NULL,
        created_at      DATETIME(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_cashback_credits_order (order_id),
        INDEX ix_cashback_credits_wallet (wallet_id, expires_at, available_at, remaining_cents),
        CONSTRAINT fk_cashback_credits_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_cashback_credits_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT ck_cashback_credits_remaining CHECK (remaining_cents BETWEEN 0 AND amount_cents)
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS cashback_holds (
        order_id     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        credit_id    CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        wallet_id    CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        amount_cents BIGINT NOT NULL,
        expires_at   DATETIME(3) NOT NULL,
        PRIMARY KEY (order_id, credit_id),
        INDEX ix_cashback_holds_wallet (wallet_id, expires_at),
        INDEX ix_cashback_holds_credit (credit_id),
        CONSTRAINT fk_cashback_holds_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_cashback_holds_credit FOREIGN KEY (credit_id) REFERENCES cashback_credits (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_cashback_holds_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT ck_cashback_holds_amount CHECK (amount_cents > 0)
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS cashback_entries (
        wallet_id     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        seq           BIGINT NOT NULL,
        kind          VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        amount_cents  BIGINT NOT NULL,
        balance_cents BIGINT NOT NULL,
        debt_cents    BIGINT NOT NULL,
        credit_id     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
        order_id      CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
        refund_id     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
        effective_at  DATETIME(3) NOT NULL,
        created_at    DATETIME(3) NOT NULL,
        PRIMARY KEY (wallet_id, seq),
        INDEX ix_cashback_entries_credit (credit_id),
        INDEX ix_cashback_entries_order (order_id),
        INDEX ix_cashback_entries_refund (refund_id),
        CONSTRAINT fk_cashback_entries_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_cashback_entries_credit FOREIGN KEY (credit_id) REFERENCES cashback_credits (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_cashback_entries_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_cashback_entries_refund FOREIGN KEY (refund_id) REFERENCES refunds (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT ck_cashback_entries_sign CHECK (
          (kind IN ('earn', 'grant', 'release', 'restore', 'debt') AND amount_cents > 0)
          OR (kind IN ('hold', 'redeem', 'clawback', 'expire', 'repay') AND amount_cents < 0)),
        CONSTRAINT ck_cashback_entries_credit CHECK ((kind IN ('debt', 'repay')) = (credit_id IS NULL)),
        CONSTRAINT ck_cashback_entries_running CHECK (balance_cents >= 0 AND debt_cents >= 0)
      ) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin`);
    for (const event of ['UPDATE', 'DELETE'] as const) await closeLedgerTo(runner, event);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS cashback_entries');
    await runner.query('DROP TABLE IF EXISTS cashback_holds');
    await runner.query('DROP TABLE IF EXISTS cashback_credits');
  }
}
