import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasConstraint, hasIndex, ID, NO_ACTION, TABLE_OPTIONS } from '../src/platform/database/migrations.js';

const NEW_SUMS = ['grants', 'sales', 'refunds', 'refund_voids'];
const NEW_TABLES = ['grant_days', 'sales_days', 'refund_days'];

/** Texts of callers that are compared: the collation ignores blanks at the end. */
const CHECKS = [
  ['sales_days', 'store'],
  ['refund_days', 'store'],
  ['grant_days', 'reason'],
] as const;

/** A position for each sum of a merchant, instead of one for the ledger; and the index of refunds that were undone. */
export class AddSums1764460800001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The later statements refer to the table. Where this was interrupted, a position may have moved since.
    await createLedgerPositions(runner);
    await runner.query(
      "INSERT INTO sum_positions (merchant_id, sums, summed_until, due_at) SELECT merchant_id, 'ledger', summed_until, due_at FROM ledger_positions ON DUPLICATE KEY UPDATE summed_until = VALUES(summed_until)",
    );
    for (const sums of NEW_SUMS)
      await runner.query(
        `INSERT IGNORE INTO sum_positions (merchant_id, sums, summed_until, due_at) SELECT id, '${sums}', '1970-01-01', UTC_TIMESTAMP(3) FROM merchants`,
      );
    // An old position may wait for the end of its day.
    await runner.query('UPDATE sum_positions SET due_at = UTC_TIMESTAMP(3) WHERE due_at > UTC_TIMESTAMP(3)');
    await referTo(runner, 'merchants', 'id', 'fk_ledger_days_merchant', 'fk_ledger_days_position');
    await runner.query('DROP TABLE IF EXISTS ledger_positions');
    if (!(await hasIndex(runner, 'refunds', 'ix_refunds_voided')))
      await runner.query(
        'ALTER TABLE refunds ADD INDEX ix_refunds_voided (merchant_id, voided_at), ALGORITHM = INPLACE, LOCK = NONE',
      );
    for (const [table, column] of CHECKS)
      if (!(await hasConstraint(runner, `ck_${table}_${column}`)))
        await runner.query(`ALTER TABLE ${table} ADD CONSTRAINT ck_${table}_${column} CHECK (${column} NOT LIKE '% ')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await createLedgerPositions(runner);
    await runner.query(
      "INSERT IGNORE INTO ledger_positions (merchant_id, summed_until, due_at) SELECT merchant_id, summed_until, due_at FROM sum_positions WHERE sums = 'ledger'",
    );
    await referTo(runner, 'ledger_positions', 'merchant_id', 'fk_ledger_days_position', 'fk_ledger_days_merchant');
    for (const table of [...NEW_TABLES, 'sum_positions']) await runner.query(`DELETE FROM ${table}`);
    for (const [table, column] of CHECKS)
      if (await hasConstraint(runner, `ck_${table}_${column}`))
        await runner.query(`ALTER TABLE ${table} DROP CONSTRAINT ck_${table}_${column}`);
    if (await hasIndex(runner, 'refunds', 'ix_refunds_voided'))
      await runner.query('ALTER TABLE refunds DROP INDEX ix_refunds_voided, ALGORITHM = INPLACE, LOCK = NONE');
  }
}

const createLedgerPositions = (runner: QueryRunner): Promise<unknown> =>
  runner.query(`
    CREATE TABLE IF NOT EXISTS ledger_positions (
      merchant_id  ${ID} NOT NULL,
      summed_until DATETIME(3) NOT NULL,
      due_at       DATETIME(3) NOT NULL,
      PRIMARY KEY (merchant_id),
      INDEX ix_ledger_positions_due (due_at),
      CONSTRAINT fk_ledger_positions_merchant FOREIGN KEY (merchant_id) REFERENCES merchants (id) ${NO_ACTION}
    ) ${TABLE_OPTIONS}`);

/** Lets the sums of the ledger refer to another table. */
async function referTo(runner: QueryRunner, table: string, column: string, name: string, old: string): Promise<void> {
  if (await hasConstraint(runner, old)) await runner.query(`ALTER TABLE ledger_days DROP FOREIGN KEY ${old}`);
  if (await hasConstraint(runner, name)) return;
  await runner.query(
    `ALTER TABLE ledger_days ADD CONSTRAINT ${name} FOREIGN KEY (merchant_id) REFERENCES ${table} (${column}) ${NO_ACTION}`,
  );
}
