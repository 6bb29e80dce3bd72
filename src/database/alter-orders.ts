import type { QueryRunner } from 'typeorm';

const STATUS_INDEX = {
  /** As the entity declares it. */
  final: 'merchant_id, status, lifetime_bucket, created_at, id, expires_at',
  /** For the time of the change: the same queries can use it, but read more rows. */
  interim: 'merchant_id, status, created_at, id, expires_at',
};

/**
 * Adds columns at the end of `orders`, or drops columns, while orders are written: no row is rewritten, and no
 * statement blocks writes. MariaDB does this only if no index has a virtual column, so there another index stands in
 * for `ix_orders_status` meanwhile. Each step checks whether it is already done, so the change can be repeated after an
 * interruption.
 *
 * @param clauses such as `ADD COLUMN a INT NULL, ADD COLUMN b INT NULL`, without `AFTER`.
 * @param isDone whether these clauses have been applied.
 */
export async function alterOrders(runner: QueryRunner, clauses: string, isDone: boolean): Promise<void> {
  const isMariaDb = await hasVersion(runner, 'MariaDB');
  if (!isDone) {
    if (isMariaDb) await useStatusIndex(runner, 'interim');
    await runner.query(`ALTER TABLE orders ${clauses}, ALGORITHM = INSTANT`);
  }
  if (isMariaDb) await useStatusIndex(runner, 'final');
}

async function useStatusIndex(runner: QueryRunner, which: keyof typeof STATUS_INDEX): Promise<void> {
  const [row] = (await runner.query(
    `SELECT GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', ') AS columns FROM information_schema.statistics
      WHERE table_schema = DATABASE() AND table_name = 'orders' AND index_name = 'ix_orders_status'`,
  )) as { columns: string }[];
  if (row?.columns === STATUS_INDEX[which]) return;
  await runner.query(`
    ALTER TABLE orders DROP INDEX ix_orders_status, ADD INDEX ix_orders_status (${STATUS_INDEX[which]}),
      ALGORITHM = INPLACE, LOCK = NONE`);
}

async function hasVersion(runner: QueryRunner, name: string): Promise<boolean> {
  const [row] = (await runner.query('SELECT VERSION() AS version')) as { version: string }[];
  return row?.version.includes(name) ?? false;
}
