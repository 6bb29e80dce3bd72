import type { Connection, RowDataPacket } from 'mysql2/promise';

/** Rows per statement: enough to be fast, and few enough for a short transaction. */
const CHUNK = 50_000;
/** Integers from 1. MySQL limits a recursion to 1000 by default. */
const NUMBERS = `
  WITH RECURSIVE k (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 999),
       numbers (i) AS (SELECT 1 + a.i + 1000 * b.i FROM k a CROSS JOIN k b)`;

/** An SQL expression for the ID of copy `n`, in the form of a version 7 UUID. */
export const ID_OF_COPY = "CONCAT('0193f1c2-7c1e-7000-8000-', LPAD(LOWER(HEX(n)), 12, '0'))";

/**
 * Copies a row many times, for large tables that would take too long to fill with requests. Unchanged columns are taken
 * from the row, so that copies have every column that the service writes.
 *
 * @param connection a plain connection, because the data source of the service has a statement timeout
 * @param condition selects the row
 * @param changes SQL expressions by column; `n` is the number of the copy, starting at 1
 */
export async function copyRow(
  connection: Connection,
  table: string,
  condition: string,
  count: number,
  changes: Record<string, string>,
): Promise<void> {
  const [rows] = await connection.query<RowDataPacket[]>(
    `SELECT column_name AS name FROM information_schema.columns
      WHERE table_schema = DATABASE() AND table_name = '${table}' AND COALESCE(generation_expression, '') = ''`,
  );
  const columns = rows.map(({ name }) => name as string);
  const values = columns.map((column) => changes[column] ?? column).join(', ');
  for (let first = 0; first < count; first += CHUNK) {
    await connection.query(
      `INSERT INTO ${table} (${columns.join(', ')}) ${NUMBERS}
       SELECT ${values} FROM (SELECT * FROM ${table} WHERE ${condition}) original
         JOIN (SELECT i + ${first} AS n FROM numbers WHERE i <= ${Math.min(CHUNK, count - first)}) copies`,
    );
  }
}
