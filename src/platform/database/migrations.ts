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

export type Say = (line: string) => void;

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
