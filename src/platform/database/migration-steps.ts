import { type QueryRunner } from 'typeorm';

/**
 * What migrations share. MySQL and MariaDB commit each `CREATE`, `ALTER` and `DROP` immediately, so a migration that
 * was interrupted runs again from its first statement. Therefore each statement must first check if it is already done:
 *
 *     if (!(await hasIndex(runner, 'orders', 'ix_x'))) await runner.query('ALTER TABLE orders ADD INDEX ix_x (x)');
 *
 * `CREATE TABLE IF NOT EXISTS` and `DROP TABLE IF EXISTS` need no check. An `ALTER TABLE` with several clauses is
 * atomic, so a check for one of the clauses is enough. Name an algorithm that does not block writes (`INSTANT`, or
 * `INPLACE, LOCK = NONE`): the server then refuses a change for which it would copy the table.
 */
async function exists(runner: QueryRunner, from: string, values: string[]): Promise<boolean> {
  const rows = (await runner.query(`SELECT 1 FROM information_schema.${from} LIMIT 1`, values)) as unknown[];
  return rows.length > 0;
}

export const hasColumn = (runner: QueryRunner, table: string, column: string): Promise<boolean> =>
  exists(runner, 'columns WHERE table_schema = DATABASE() AND table_name = ? AND column_name = ?', [table, column]);

export const hasIndex = (runner: QueryRunner, table: string, index: string): Promise<boolean> =>
  exists(runner, 'statistics WHERE table_schema = DATABASE() AND table_name = ? AND index_name = ?', [table, index]);

export const hasConstraint = (runner: QueryRunner, name: string): Promise<boolean> =>
  exists(runner, 'table_constraints WHERE table_schema = DATABASE() AND constraint_name = ?', [name]);

/**
 * Records the expression of a generated column. TypeORM compares the entity with this record, because servers do not
 * return an expression exactly as it was written.
 *
 * @param expression identical to `asExpression` of the entity.
 */
export async function recordExpression(
  runner: QueryRunner,
  table: string,
  column: string,
  expression: string,
): Promise<void> {
  await forgetExpression(runner, table, column);
  await runner.query(
    "INSERT INTO typeorm_metadata (type, `schema`, `table`, name, value) VALUES ('GENERATED_COLUMN', DATABASE(), ?, ?, ?)",
    [table, column, expression],
  );
}

export async function forgetExpression(runner: QueryRunner, table: string, column: string): Promise<void> {
  await runner.query('DELETE FROM typeorm_metadata WHERE `schema` = DATABASE() AND `table` = ? AND name = ?', [
    table,
    column,
  ]);
}

const NOT_ALLOWED = [
  'ER_BINLOG_CREATE_ROUTINE_NEED_SUPER',
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_SPECIFIC_ACCESS_DENIED_ERROR',
];

/**
 * Creates a trigger that protects the ledger from bugs. A server with binary logging lets only trusted users create
 * triggers (log_bin_trust_function_creators). The service also works without them, so this only prints a warning.
 *
 * @param trigger the statement after CREATE TRIGGER IF NOT EXISTS.
 * @param warning says what is not protected if the user may not create triggers.
 */
export async function createTrigger(runner: QueryRunner, trigger: string, warning: string): Promise<void> {
  try {
    await runner.query(`CREATE TRIGGER IF NOT EXISTS ${trigger}`);
  } catch (error) {
    const code = (error as { driverError?: { code?: string } }).driverError?.code ?? '';
    if (!NOT_ALLOWED.includes(code)) throw error;
    console.warn(`${warning}: the database user may not create triggers (${code})`);
  }
}

export async function makeAppendOnly(runner: QueryRunner, table: string): Promise<void> {
  for (const event of ['UPDATE', 'DELETE'])
    await createTrigger(
      runner,
      `tr_${table}_no_${event.toLowerCase()} BEFORE ${event} ON ${table} FOR EACH ROW
         SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '${table} is append-only: a correction is a new row'`,
      `${table} is not closed to ${event}`,
    );
}

export const ID = 'CHAR(36) CHARACTER SET ascii COLLATE ascii_bin';

/** The column type of texts from a fixed list or of a fixed form. */
export const word = (length = 32): string => `VARCHAR(${length}) CHARACTER SET ascii COLLATE ascii_bin`;

/** Nothing is deleted by a foreign key. Servers describe a foreign key without this differently. */
export const NO_ACTION = 'ON DELETE NO ACTION ON UPDATE NO ACTION';

/** Texts are compared byte for byte: most collations treat `José` and `jose` as equal. */
export const TABLE_OPTIONS = 'ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin';
