import type { MigrationInterface, QueryRunner } from 'typeorm';

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
    for (const event of ['UPDATE', 'DELETE']) await closeLedgerTo(runner, event);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS cashback_entries');
    await runner.query('DROP TABLE IF EXISTS cashback_holds');
    await runner.query('DROP TABLE IF EXISTS cashback_credits');
  }
}

/**
 * The triggers prevent bugs from changing ledger entries. A server with binary logging lets only trusted users create
 * triggers (log_bin_trust_function_creators). The service also works without them, so this only prints a warning.
 */
async function closeLedgerTo(runner: QueryRunner, event: string): Promise<void> {
  try {
    await runner.query(`
      CREATE TRIGGER IF NOT EXISTS tr_cashback_entries_no_${event.toLowerCase()} BEFORE ${event} ON cashback_entries FOR EACH ROW
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'cashback_entries is append-only: a correction is a new entry'`);
  } catch (error) {
    const code = (error as { driverError?: { code?: string } }).driverError?.code ?? '';
    if (
      ![
        'ER_BINLOG_CREATE_ROUTINE_NEED_SUPER',
        'ER_TABLEACCESS_DENIED_ERROR',
        'ER_SPECIFIC_ACCESS_DENIED_ERROR',
      ].includes(code)
    )
      throw error;
    console.warn(`cashback_entries is not closed to ${event}: the database user may not create triggers (${code})`);
  }
}
