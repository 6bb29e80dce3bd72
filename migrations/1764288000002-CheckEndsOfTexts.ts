import type { MigrationInterface, QueryRunner } from 'typeorm';
import { hasConstraint } from '../src/platform/database/migrations.js';

/** Texts of callers that are compared. */
const COLUMNS = [
  ['orders', 'store'],
  ['refunds', 'store'],
  ['cashback_credits', 'store'],
  ['cashback_credits', 'reason'],
  ['cashback_entries', 'store'],
  ['ledger_days', 'store'],
  ['ledger_days', 'credit_store'],
] as const;

/**
 * The collation ignores blanks at the end, so texts that differ in nothing else would be equal. LIKE does not ignore
 * them. Servers copy a table to add a check.
 */
export class CheckEndsOfTexts1764288000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [table, column] of COLUMNS) {
      if (await hasConstraint(runner, `ck_${table}_${column}`)) continue;
      const sql = `SELECT COUNT(*) AS number FROM ${table} WHERE ${column} LIKE '% '`;
      const [row] = (await runner.query(sql)) as { number: string }[];
      if (Number(row?.number) > 0)
        throw new Error(
          `rows of ${table} with a ${column} that ends in a blank: ${row?.number}. Remove the blanks, then migrate.`,
        );
      await runner.query(`ALTER TABLE ${table} ADD CONSTRAINT ck_${table}_${column} CHECK (${column} NOT LIKE '% ')`);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [table, column] of COLUMNS)
      if (await hasConstraint(runner, `ck_${table}_${column}`))
        await runner.query(`ALTER TABLE ${table} DROP CONSTRAINT ck_${table}_${column}`);
  }
}
