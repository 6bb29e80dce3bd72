import type { MigrationInterface, QueryRunner } from 'typeorm';
import {
  createTrigger,
  dropTrigger,
  hasColumn,
  hasIndex,
  ID,
  NO_ACTION,
  TABLE_OPTIONS,
  word,
} from '../src/platform/database/migrations.js';

/** Columns that servers add without copying the table. */
const COLUMNS: [table: string, columns: [name: string, type: string][]][] = [
  ['cashback_entries', [['debit_id', `${ID} NULL`]]],
  [
    'refunds',
    [
      ['content_digest', 'BINARY(32) NULL'],
      ['voided_at', 'DATETIME(3) NULL'],
      ['voided_by', `${word(36)} NULL`],
      ['void_reason', 'VARCHAR(500) NULL'],
    ],
  ],
  [
    'wallets',
    [
      ['frozen', 'TINYINT NOT NULL DEFAULT 0'],
      ['freeze_changed_at', 'DATETIME(3) NULL'],
      ['freeze_changed_by', `${word(36)} NULL`],
      ['freeze_reason', 'VARCHAR(500) NULL'],
    ],
  ],
  [
    'orders',
    [
      ['sold_at', 'DATETIME(3) NULL'],
      ['campaign_id', `${ID} NULL`],
    ],
  ],
  ['merchants', [['policy_version', 'INT NOT NULL DEFAULT 1']]],
  [
    'policy_versions',
    [
      ['id', `${ID} NULL`],
      ['name', 'VARCHAR(100) NULL'],
      ['created_by', `${word(36)} NULL`],
      ['ended_by', `${word(36)} NULL`],
    ],
  ],
];

/** Who completed an order, which campaign it had, and who made a refund: lists filter by them. */
const INDEXES = [
  ['orders', 'ix_orders_user', '(merchant_id, completed_by, created_at, id)'],
  ['orders', 'ix_orders_campaign', '(merchant_id, campaign_id, created_at, id)'],
  ['refunds', 'ix_refunds_user', '(merchant_id, created_by, created_at, id)'],
] as const;

/** Sums by local day: of completed orders, of refunds, and of grants. Parts of a key are not NULL. */
const SUMS: [table: string, key: string[], measures: string[]][] = [
  [
    'sales_days',
    ['store', 'user_id', 'campaign_id'],
    ['orders', 'late_orders', 'total_cents', 'eligible_cents', 'earned_cents', 'redeemed_cents'],
  ],
  [
    'refund_days',
    ['store', 'user_id', 'campaign_id'],
    ['refunds', 'amount_cents', 'returned_cents', 'taken_back_cents'],
  ],
  ['grant_days', ['user_id', 'reason'], ['grants', 'amount_cents', 'voided_cents']],
];

const TYPES: Record<string, string> = { store: 'VARCHAR(100)', reason: 'VARCHAR(500)' };

const SIGNS = (undone: string): string => `
  tr_cashback_entries_sign BEFORE INSERT ON cashback_entries FOR EACH ROW
    IF NOT ((NEW.kind IN ('earn', 'grant', 'return', 'debt', 'move_in') AND NEW.amount_cents > 0)
            OR (NEW.kind IN ('redeem', 'take_back', 'expire', 'repay', 'void', 'move_out') AND NEW.amount_cents < 0)${undone}) THEN
      SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'tr_cashback_entries_sign: the amount does not have the sign of its kind';
    END IF`;

/** What is undone has the opposite sign. */
const UNDONE = `
            OR (NEW.kind = 'debit' AND NEW.amount_cents <> 0 AND NEW.debit_id IS NOT NULL)
            OR (NEW.kind IN ('return', 'take_back', 'debt') AND NEW.amount_cents <> 0 AND NEW.refund_id IS NOT NULL)`;

const NO_SIGNS = 'no trigger checks the signs in cashback_entries';

/**
 * Debits, refunds that are undone, wallets that are frozen; and what late sales, rules over HTTP with their history,
 * campaigns and their sums need.
 */
export class AddWaysBack1764374400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS debits (
        id              ${ID} NOT NULL,
        merchant_id     ${ID} NOT NULL,
        wallet_id       ${ID} NOT NULL,
        external_id     VARBINARY(400) NOT NULL,
        requested_cents BIGINT NOT NULL,
        takes_available TINYINT NOT NULL,
        amount_cents    BIGINT NOT NULL,
        restored_cents BIGINT NOT NULL,
        first_seq       BIGINT NOT NULL,
        last_seq        BIGINT NOT NULL,
        reason          VARCHAR(500) NULL,
        note            VARCHAR(500) NULL,
        store           VARCHAR(100) NULL,
        metadata        JSON NULL,
        content_digest  BINARY(32) NOT NULL,
        created_at      DATETIME(3) NOT NULL,
        created_by      ${word(36)} NOT NULL,
        voided_at       DATETIME(3) NULL,
        voided_by       ${word(36)} NULL,
        void_reason     VARCHAR(500) NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_debits_external_id (merchant_id, external_id),
        INDEX ix_debits_merchant (merchant_id, id),
        INDEX ix_debits_user (merchant_id, created_by, id),
        INDEX ix_debits_wallet (wallet_id, id),
        CONSTRAINT fk_debits_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION},
        CONSTRAINT fk_debits_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ${NO_ACTION},
        CONSTRAINT ck_debits_amount CHECK (amount_cents > 0 AND amount_cents <= requested_cents),
        CONSTRAINT ck_debits_restored CHECK (restored_cents BETWEEN 0 AND amount_cents),
        CONSTRAINT ck_debits_store CHECK (store NOT LIKE '% ')
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS policy_bases (
        merchant_id ${ID} NOT NULL,
        version     INT NOT NULL,
        policy      JSON NOT NULL,
        stored_at   DATETIME(3) NOT NULL,
        stored_by   ${word(36)} NOT NULL,
        reason      VARCHAR(500) NULL,
        PRIMARY KEY (merchant_id, version),
        CONSTRAINT fk_policy_bases_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS sum_positions (
        merchant_id  ${ID} NOT NULL,
        sums         ${word()} NOT NULL,
        summed_until DATETIME(3) NOT NULL,
        due_at       DATETIME(3) NOT NULL,
        PRIMARY KEY (merchant_id, sums),
        INDEX ix_sum_positions_due (due_at),
        CONSTRAINT fk_sum_positions_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
      ) ${TABLE_OPTIONS}`);
    for (const [table, key, measures] of SUMS)
      await runner.query(`
        CREATE TABLE IF NOT EXISTS ${table} (
          merchant_id ${ID} NOT NULL,
          day         ${word(10)} NOT NULL,
          ${key.map((column) => `${column} ${TYPES[column] ?? word(36)} NOT NULL`).join(', ')},
          ${measures.map((column) => `${column} BIGINT NOT NULL`).join(', ')},
          PRIMARY KEY (merchant_id, day, ${key.join(', ')}),
          CONSTRAINT fk_${table}_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
        ) ${TABLE_OPTIONS}`);
    for (const [table, columns] of COLUMNS)
      if (!(await hasColumn(runner, table, columns[0]![0])))
        await runner.query(
          `ALTER TABLE ${table} ${columns.map(([name, type]) => `ADD COLUMN ${name} ${type}`).join(', ')}, ALGORITHM = INSTANT`,
        );
    for (const [table, name, columns] of INDEXES)
      if (!(await hasIndex(runner, table, name)))
        await runner.query(`ALTER TABLE ${table} ADD INDEX ${name} ${columns}, ALGORITHM = INPLACE, LOCK = NONE`);
    // A total can be zero. Servers copy the table.
    await runner.query(
      'ALTER TABLE orders DROP CONSTRAINT ck_orders_total, ADD CONSTRAINT ck_orders_total CHECK (total_cents >= 0)',
    );
    await dropTrigger(runner, 'tr_cashback_entries_sign');
    await createTrigger(runner, SIGNS(UNDONE), NO_SIGNS);
  }

  async down(runner: QueryRunner): Promise<void> {
    await dropTrigger(runner, 'tr_cashback_entries_sign');
    await createTrigger(runner, SIGNS(''), NO_SIGNS);
    await runner.query(
      'ALTER TABLE orders DROP CONSTRAINT ck_orders_total, ADD CONSTRAINT ck_orders_total CHECK (total_cents > 0)',
    );
    for (const [table, name] of INDEXES)
      if (await hasIndex(runner, table, name))
        await runner.query(`ALTER TABLE ${table} DROP INDEX ${name}, ALGORITHM = INPLACE, LOCK = NONE`);
    for (const [table, columns] of COLUMNS)
      if (await hasColumn(runner, table, columns[0]![0]))
        await runner.query(
          `ALTER TABLE ${table} ${columns.map(([name]) => `DROP COLUMN ${name}`).join(', ')}, ALGORITHM = INSTANT`,
        );
    for (const table of [...SUMS.map(([name]) => name), 'sum_positions', 'policy_bases', 'debits'])
      await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}
