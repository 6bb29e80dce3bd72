import type { MigrationInterface, QueryRunner } from 'typeorm';
import {
  createTrigger,
  forgetExpression,
  ID,
  makeAppendOnly,
  NO_ACTION,
  recordExpression,
  TABLE_OPTIONS,
  word,
} from '../src/platform/database/migrations.js';

const TABLES = [
  'ledger_days',
  'ledger_positions',
  'cashback_entries',
  'grant_totals',
  'cashback_grants',
  'cashback_holds',
  'customer_changes',
  'cashback_credits',
  'wallets',
];

/**
 * Customers' wallets: their credits, the holds of open orders, grants, and the append-only ledger of all movements with
 * its sums.
 */
export class CreateCashback1763640000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS wallets (
        id              ${ID} NOT NULL,
        merchant_id     ${ID} NOT NULL,
        document        ${word(36)} NOT NULL,
        debt_cents      BIGINT NOT NULL,
        balance_cents   BIGINT NOT NULL,
        available_cents BIGINT NOT NULL,
        pending_cents   BIGINT NOT NULL,
        held_cents      BIGINT NOT NULL,
        available_as_of DATETIME(3) NOT NULL,
        available_until DATETIME(3) NOT NULL,
        last_seq        BIGINT NOT NULL,
        created_at      DATETIME(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_wallets_merchant_document (merchant_id, document),
        INDEX ix_wallets_merchant (merchant_id, id),
        CONSTRAINT fk_wallets_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION},
        CONSTRAINT ck_wallets_debt CHECK (debt_cents >= 0),
        CONSTRAINT ck_wallets_balance CHECK (balance_cents >= 0),
        CONSTRAINT ck_wallets_parts CHECK (available_cents >= 0 AND pending_cents >= 0 AND held_cents >= 0)
      ) ${TABLE_OPTIONS}`);
    // Spent credits are never deleted. Indexes that contain is_open skip them.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS cashback_credits (
        id                  ${ID} NOT NULL,
        wallet_id           ${ID} NOT NULL,
        merchant_id         ${ID} NOT NULL,
        seq                 BIGINT NOT NULL,
        order_id            ${ID} NULL,
        moved_order_id      ${ID} NULL,
        refund_id           ${ID} NULL,
        from_credit_id      ${ID} NULL,
        reason              VARCHAR(500) NULL,
        store               VARCHAR(100) NULL,
        amount_cents        BIGINT NOT NULL,
        remaining_cents     BIGINT NOT NULL,
        held_cents          BIGINT NOT NULL,
        is_open             TINYINT AS (remaining_cents > held_cents) STORED,
        available_at        DATETIME(3) NOT NULL,
        expires_at          DATETIME(3) NOT NULL,
        created_at          DATETIME(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_cashback_credits_order (order_id, merchant_id),
        INDEX ix_cashback_credits_expiry (wallet_id, merchant_id, is_open, expires_at, seq, available_at, remaining_cents, held_cents),
        INDEX ix_cashback_credits_release (wallet_id, merchant_id, is_open, available_at, expires_at, remaining_cents, held_cents),
        INDEX ix_cashback_credits_due (is_open, expires_at, wallet_id, merchant_id),
        INDEX ix_cashback_credits_start (is_open, available_at, wallet_id, merchant_id),
        INDEX ix_cashback_credits_merchant (merchant_id, is_open, expires_at, id),
        INDEX ix_cashback_credits_refund (refund_id),
        INDEX ix_cashback_credits_from (from_credit_id),
        CONSTRAINT fk_cashback_credits_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ${NO_ACTION},
        CONSTRAINT fk_cashback_credits_order FOREIGN KEY (order_id) REFERENCES orders (id) ${NO_ACTION},
        CONSTRAINT fk_cashback_credits_refund FOREIGN KEY (refund_id) REFERENCES refunds (id) ${NO_ACTION},
        CONSTRAINT fk_cashback_credits_from FOREIGN KEY (from_credit_id) REFERENCES cashback_credits (id) ${NO_ACTION},
        CONSTRAINT ck_cashback_credits_remaining CHECK (remaining_cents BETWEEN 0 AND amount_cents),
        CONSTRAINT ck_cashback_credits_held CHECK (held_cents BETWEEN 0 AND remaining_cents)
      ) ${TABLE_OPTIONS}`);
    await recordExpression(runner, 'cashback_credits', 'is_open', 'remaining_cents > held_cents');
    await runner.query(`
      CREATE TABLE IF NOT EXISTS customer_changes (
        order_id           ${ID} NOT NULL,
        merchant_id        ${ID} NOT NULL,
        version            INT NOT NULL,
        previous_wallet_id ${ID} NOT NULL,
        wallet_id          ${ID} NOT NULL,
        moved_cents        BIGINT NOT NULL,
        created_at         DATETIME(3) NOT NULL,
        created_by         ${word(36)} NOT NULL,
        PRIMARY KEY (order_id),
        INDEX ix_customer_changes_user (merchant_id, created_by, created_at),
        INDEX ix_customer_changes_previous_wallet (previous_wallet_id),
        INDEX ix_customer_changes_wallet (wallet_id),
        CONSTRAINT fk_customer_changes_order FOREIGN KEY (order_id) REFERENCES orders (id) ${NO_ACTION},
        CONSTRAINT fk_customer_changes_previous_wallet FOREIGN KEY (previous_wallet_id) REFERENCES wallets (id) ${NO_ACTION},
        CONSTRAINT fk_customer_changes_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS cashback_holds (
        order_id     ${ID} NOT NULL,
        credit_id    ${ID} NOT NULL,
        merchant_id  ${ID} NOT NULL,
        amount_cents BIGINT NOT NULL,
        PRIMARY KEY (order_id, credit_id),
        INDEX ix_cashback_holds_credit (credit_id),
        CONSTRAINT fk_cashback_holds_order FOREIGN KEY (order_id) REFERENCES orders (id) ${NO_ACTION},
        CONSTRAINT fk_cashback_holds_credit FOREIGN KEY (credit_id) REFERENCES cashback_credits (id) ${NO_ACTION},
        CONSTRAINT ck_cashback_holds_amount CHECK (amount_cents > 0)
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS cashback_grants (
        credit_id              ${ID} NOT NULL,
        merchant_id            ${ID} NOT NULL,
        created_by             ${word(36)} NOT NULL,
        external_id            VARBINARY(400) NOT NULL,
        requested_available_at DATETIME(3) NULL,
        requested_expires_at   DATETIME(3) NULL,
        requested_available_on ${word(10)} NULL,
        requested_expires_on   ${word(10)} NULL,
        note                   VARCHAR(500) NULL,
        metadata               JSON NULL,
        content_digest         BINARY(32) NOT NULL,
        voided_cents           BIGINT NULL,
        voided_at              DATETIME(3) NULL,
        voided_by              ${word(36)} NULL,
        void_reason            VARCHAR(500) NULL,
        PRIMARY KEY (credit_id),
        UNIQUE INDEX uq_cashback_grants_external_id (merchant_id, external_id),
        INDEX ix_cashback_grants_merchant (merchant_id, credit_id),
        INDEX ix_cashback_grants_user (merchant_id, created_by, credit_id),
        CONSTRAINT fk_cashback_grants_credit FOREIGN KEY (credit_id) REFERENCES cashback_credits (id) ${NO_ACTION},
        CONSTRAINT fk_cashback_grants_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS grant_totals (
        merchant_id   ${ID} NOT NULL,
        subject_id    ${ID} NOT NULL,
        day           ${word(10)} NOT NULL,
        granted_cents BIGINT NOT NULL,
        PRIMARY KEY (merchant_id, subject_id)
      ) ${TABLE_OPTIONS}`);
    await createLedger(runner);
    await createSums(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await forgetExpression(runner, 'cashback_credits', 'is_open');
    for (const table of TABLES) await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}

/**
 * `order_id` has no foreign key: each entry would check a row that its transaction has locked. The signs have a trigger
 * in place of a check, because servers copy a table to change a check, and the ledger is the largest table.
 */
async function createLedger(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE IF NOT EXISTS cashback_entries (
      wallet_id     ${ID} NOT NULL,
      merchant_id   ${ID} NOT NULL,
      seq           BIGINT NOT NULL,
      kind          ${word()} NOT NULL,
      amount_cents  BIGINT NOT NULL,
      balance_cents BIGINT NOT NULL,
      debt_cents    BIGINT NOT NULL,
      credit_id     ${ID} NULL,
      order_id      ${ID} NULL,
      refund_id     ${ID} NULL,
      effective_at  DATETIME(3) NOT NULL,
      created_at    DATETIME(3) NOT NULL,
      made_by       ${word(36)} NULL,
      store         VARCHAR(100) NULL,
      PRIMARY KEY (wallet_id, seq),
      INDEX ix_cashback_entries_credit (credit_id),
      INDEX ix_cashback_entries_order (order_id),
      INDEX ix_cashback_entries_refund (refund_id),
      INDEX ix_cashback_entries_created (merchant_id, created_at),
      CONSTRAINT fk_cashback_entries_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ${NO_ACTION},
      CONSTRAINT fk_cashback_entries_credit FOREIGN KEY (credit_id) REFERENCES cashback_credits (id) ${NO_ACTION},
      CONSTRAINT fk_cashback_entries_refund FOREIGN KEY (refund_id) REFERENCES refunds (id) ${NO_ACTION},
      CONSTRAINT ck_cashback_entries_credit CHECK ((kind IN ('debt', 'repay')) = (credit_id IS NULL)),
      CONSTRAINT ck_cashback_entries_running CHECK (balance_cents >= 0 AND debt_cents >= 0)
    ) ${TABLE_OPTIONS}`);
  await createTrigger(
    runner,
    `tr_cashback_entries_sign BEFORE INSERT ON cashback_entries FOR EACH ROW
       IF NOT ((NEW.kind IN ('earn', 'grant', 'return', 'debt', 'move_in') AND NEW.amount_cents > 0)
               OR (NEW.kind IN ('redeem', 'take_back', 'expire', 'repay', 'void', 'move_out') AND NEW.amount_cents < 0)) THEN
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'tr_cashback_entries_sign: the amount does not have the sign of its kind';
       END IF`,
    'no trigger checks the signs in cashback_entries',
  );
  await makeAppendOnly(runner, 'cashback_entries');
}

/** The sums of the ledger by local day, for reports, and how far each merchant's ledger has been summed. */
async function createSums(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE IF NOT EXISTS ledger_positions (
      merchant_id  ${ID} NOT NULL,
      summed_until DATETIME(3) NOT NULL,
      due_at       DATETIME(3) NOT NULL,
      PRIMARY KEY (merchant_id),
      INDEX ix_ledger_positions_due (due_at),
      CONSTRAINT fk_ledger_positions_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
    ) ${TABLE_OPTIONS}`);
  // Parts of a key are not NULL: no store is an empty text.
  await runner.query(`
    CREATE TABLE IF NOT EXISTS ledger_days (
      merchant_id  ${ID} NOT NULL,
      day          ${word(10)} NOT NULL,
      store        VARCHAR(100) NOT NULL,
      credit_store VARCHAR(100) NOT NULL,
      kind         ${word()} NOT NULL,
      entries      BIGINT NOT NULL,
      amount_cents BIGINT NOT NULL,
      PRIMARY KEY (merchant_id, day, store, credit_store, kind),
      CONSTRAINT fk_ledger_days_position FOREIGN KEY (merchant_id) REFERENCES ledger_positions (merchant_id) ${NO_ACTION}
    ) ${TABLE_OPTIONS}`);
}
