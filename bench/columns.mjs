// @ts-check

/**
 * The columns of a table that an INSERT names, each with what a row has there unless it says otherwise. The migrations
 * decide which there are, so that a new one breaks nothing.
 *
 * @param {(sql: string, values: unknown[]) => Promise<Record<string, unknown>[]>} query
 * @param {string} table
 * @returns {Promise<[name: string, empty: null | 0 | ''][]>}
 */
export async function columnsOf(query, table) {
  const rows = await query(
    `SELECT column_name AS name, is_nullable = 'YES' AS is_nullable, data_type LIKE '%int' AS is_number
       FROM information_schema.columns
      WHERE table_schema = DATABASE() AND table_name = ? AND extra NOT LIKE '%GENERATED' AND extra <> 'auto_increment'
      ORDER BY ordinal_position`,
    [table],
  );
  return rows.map(({ name, is_nullable, is_number }) => [String(name), is_nullable ? null : is_number ? 0 : '']);
}
