import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createTrigger } from '../src/database/create-trigger.js';
import { hasColumn, hasConstraint } from '../src/database/migration-checks.js';

const SIGNS = `
  (kind IN ('earn', 'grant', 'release', 'restore', 'debt') AND amount_cents > 0)
  OR (kind IN ('hold', 'redeem', 'clawback', 'expire', 'repay', 'void') AND amount_cents < 0)`;

/**
 * Grants remember the calendar days that were requested, and what was taken back of them. The ledger has the kind
 * `void`.
 *
 * A trigger replaces the check of signs: servers copy a table to add a check, and the ledger is the largest table.
 */
export class AddGrantVoids1763640000018 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (!(await hasColumn(runner, 'cashback_grants', 'voided_at')))
      await runner.query(`
        ALTER TABLE cashback_grants
          ADD COLUMN requested_available_on VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NULL,
          ADD COLUMN requested_expires_on VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NULL,
          ADD COLUMN voided_cents BIGINT NULL,
          ADD COLUMN voided_at DATETIME(3) NULL,
          ALGORITHM = INSTANT`);
    await createSignTrigger(runner);
    if (await hasConstraint(runner, 'cashback_entries', 'ck_cashback_entries_sign'))
      await runner.query(
        'ALTER TABLE cashback_entries DROP CONSTRAINT ck_cashback_entries_sign, ALGORITHM = INPLACE, LOCK = NONE',
      );
  }

  /** The trigger stays in place of the earlier check, and accepts the `void` entries that exist. */
  async down(runner: QueryRunner): Promise<void> {
    if (await hasColumn(runner, 'cashback_grants', 'voided_at'))
      await runner.query(`
        ALTER TABLE cashback_grants
          DROP COLUMN requested_available_on, DROP COLUMN requested_expires_on,
          DROP COLUMN voided_cents, DROP COLUMN voided_at`);
  }
}

/** Like the triggers that reject UPDATE and DELETE, it is optional: not every database user can create triggers. */
function createSignTrigger(runner: QueryRunner): Promise<void> {
  const signs = SIGNS.replaceAll(/\b(kind|amount_cents)\b/g, 'NEW.$1');
  return createTrigger(
    runner,
    `tr_cashback_entries_sign BEFORE INSERT ON cashback_entries FOR EACH ROW
        IF NOT (${signs}) THEN
          SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'tr_cashback_entries_sign: the amount does not have the sign of its kind';
        END IF`,
    'no trigger checks the signs in cashback_entries',
  );
}
