import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { isNotMigrated, lockConflict } from './errors.js';

/** How long one attempt to get the lock waits. After each attempt, a line says which connection holds the lock. */
const LOCK_WAIT_SECONDS = 5;

/** Five minutes in total. */
const LOCK_ATTEMPTS = 60;

/**
 * How often the migrations run again after a conflict with another transaction, with a second between them. A change
 * of a table that waits for a transaction makes all later statements wait, too: so it waits a second at most.
 */
const CONFLICT_ATTEMPTS = 60;

type Say = (line: string) => void;

/** Applies the pending migrations, and returns their names. */
export function applyMigrations(dataSource: DataSource, say: Say): Promise<string[]> {
  return withLock(dataSource, say, async (executor) => {
    const pending = await executor.getPendingMigrations();
    await repeatAfterConflicts(say, () => executor.executePendingMigrations());
    return pending.map(({ name }) => name);
  });
}

export const migrationNames = ({ migrations }: DataSource): string[] =>
  migrations.map(({ name, constructor }) => name ?? constructor.name);

/** A database that has none may have no table of them either. */
export async function appliedMigrations(query: (sql: string) => Promise<{ name: string }[]>): Promise<Set<string>> {
  const rows = await query('SELECT name FROM migrations').catch((error: unknown) => {
    if (isNotMigrated(error)) return [];
    throw error;
  });
  return new Set(rows.map(({ name }) => name));
}

/** Reverts the last applied migration, if there is one. */
export function revertMigration(dataSource: DataSource, say: Say): Promise<void> {
  return withLock(dataSource, say, (executor) => repeatAfterConflicts(say, () => executor.undoLastMigration()));
}

/**
 * Runs the work on the connection that holds the lock, so that the work stops if that connection breaks. If the process
 * is killed, the lock is released as soon as the server has finished its last statement.
 */
async function withLock<T>(
  dataSource: DataSource,
  say: Say,
  work: (executor: MigrationExecutor) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    const lock = await takeLock(runner, String(dataSource.options.database), say);
    try {
      // MariaDB blocks writes to a table while it waits for InnoDB's locks on those whose foreign keys refer to it.
      await runner.query('SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1');
      await createMetadataTable(runner);
      const executor = new MigrationExecutor(dataSource, runner);
      // Not atomic: the server commits each statement that changes the schema. Migrations are repeatable instead.
      executor.transaction = 'each';
      return await work(executor);
    } finally {
      // A broken connection no longer has the lock, and this error must not hide the first one.
      await runner.query('DO RELEASE_LOCK(?)', [lock]).catch(() => undefined);
    }
  } finally {
    await runner.release();
  }
}

/**
 * Runs migrations again after a conflict with the transaction of a request, or of a backup that uses a table all the
 * time. Each migration is repeatable from any point at which it stops.
 */
async function repeatAfterConflicts(say: Say, work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      const reason = lockConflict(error);
      if (reason === undefined || attempt === CONFLICT_ATTEMPTS) throw error;
      say(`A migration met another transaction (${reason.replaceAll('_', ' ')}). It is repeated in a second.`);
      await sleep(1000);
    }
  }
}

/**
 * TypeORM creates the table in which it records the expressions of generated columns without a primary key. Group
 * Replication rejects writes to such a table, and a server with `sql_require_primary_key` rejects the table. So it is
 * created here.
 */
async function createMetadataTable(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE IF NOT EXISTS typeorm_metadata (
      id INT NOT NULL AUTO_INCREMENT, type VARCHAR(255) NOT NULL, \`database\` VARCHAR(255) NULL,
      \`schema\` VARCHAR(255) NULL, \`table\` VARCHAR(255) NULL, name VARCHAR(255) NULL, value TEXT NULL,
      PRIMARY KEY (id)
    ) ENGINE = InnoDB`);
}

/** Named locks are global to the server, and their names have at most 64 characters. */
async function takeLock(runner: QueryRunner, database: string, say: Say): Promise<string> {
  const lock = `migrations:${createHash('sha256').update(database).digest('hex').slice(0, 40)}`;
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt++) {
    const [row] = (await runner.query('SELECT GET_LOCK(?, ?) AS taken, IS_USED_LOCK(?) AS holder', [
      lock,
      LOCK_WAIT_SECONDS,
      lock,
    ])) as { taken: number | null; holder: number | null }[];
    if (Number(row?.taken) === 1) return lock;
    say(`Another process is applying migrations (database connection ${row?.holder ?? 'unknown'}). Waiting for it.`);
  }
  throw new Error(`another process has been applying migrations for ${LOCK_ATTEMPTS * LOCK_WAIT_SECONDS} seconds`);
}

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
  const refused = await ifAllowed(runner, `CREATE TRIGGER IF NOT EXISTS ${trigger}`);
  if (refused !== undefined) console.warn(`${warning}: the database user may not create triggers (${refused})`);
}

/** A user that may not drop triggers could not create them either. */
export const dropTrigger = (runner: QueryRunner, name: string): Promise<string | undefined> =>
  ifAllowed(runner, `DROP TRIGGER IF EXISTS ${name}`);

/** @returns the code of the server if the user may not do it. */
async function ifAllowed(runner: QueryRunner, sql: string): Promise<string | undefined> {
  try {
    await runner.query(sql);
    return undefined;
  } catch (error) {
    const code = (error as { driverError?: { code?: string } }).driverError?.code ?? '';
    if (!NOT_ALLOWED.includes(code)) throw error;
    return code;
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
