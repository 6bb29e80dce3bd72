import type { QueryRunner } from 'typeorm';

/**
 * Checks of the current schema. MySQL and MariaDB commit each `CREATE`, `ALTER` and `DROP` immediately, so a migration
 * that was interrupted runs again from its first statement. Therefore each statement must first check if it is already
 * done:
 *
 *     if (!(await hasIndex(runner, 'orders', 'ix_x'))) await runner.query('ALTER TABLE orders ADD INDEX ix_x (x)');
 *
 * `CREATE TABLE IF NOT EXISTS` and `DROP TABLE IF EXISTS` need no check. An `ALTER TABLE` with several clauses is
 * atomic, so a check for one of the clauses is enough.
 */
async function exists(runner: QueryRunner, from: string, values: string[]): Promise<boolean> {
  const rows = (await runner.query(`SELECT 1 FROM information_schema.${from} LIMIT 1`, values)) as unknown[];
  return rows.length > 0;
}

/** Returns whether the table has the column. */
export const hasColumn = (runner: QueryRunner, table: string, column: string): Promise<boolean> =>
  exists(runner, 'columns WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ?', [table, column]);

/** Returns whether rows that are inserted without the column get a value other than NULL. */
export const hasDefault = (runner: QueryRunner, table: string, column: string): Promise<boolean> =>
  exists(
    runner,
    'columns WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ? AND column_default IS NOT NULL',
    [table, column],
  );

/** Returns whether the table has the index, unique or not. */
export const hasIndex = (runner: QueryRunner, table: string, index: string): Promise<boolean> =>
  exists(runner, 'statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?', [table, index]);

/** Returns whether the table has the foreign key, check or unique key. */
export const hasConstraint = (runner: QueryRunner, table: string, name: string): Promise<boolean> =>
  exists(runner, 'table_constraints WHERE table_schema = DATABASE() AND table_name = ? AND constraint_name = ?', [
    table,
    name,
  ]);

/** Returns whether the schema has the trigger, as far as the database user may see it. */
export const hasTrigger = (runner: QueryRunner, name: string): Promise<boolean> =>
  exists(runner, 'triggers WHERE trigger_schema = DATABASE() AND trigger_name = ?', [name]);
