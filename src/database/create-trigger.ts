import type { QueryRunner } from 'typeorm';

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
