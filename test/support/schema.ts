import type { DataSource } from 'typeorm';

type Rows = Record<string, unknown>[];

/** Returns the names of all tables, in order. */
export async function tableNames(dataSource: DataSource): Promise<string[]> {
  const tables: Rows = await dataSource.query(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name',
  );
  return tables.map(({ name }) => String(name));
}

/** Returns the names of the tables that have no primary key. */
export async function tablesWithoutKey(dataSource: DataSource): Promise<string[]> {
  const keys: Rows = await dataSource.query(
    "SELECT table_name AS name FROM information_schema.table_constraints WHERE table_schema = DATABASE() AND constraint_type = 'PRIMARY KEY'",
  );
  const withKey = new Set(keys.map(({ name }) => String(name)));
  return (await tableNames(dataSource)).filter((name) => !withKey.has(name));
}

/**
 * Returns the schema as the server describes it: the statement of each table, the triggers, and what TypeORM recorded.
 */
export async function describeSchema(dataSource: DataSource): Promise<unknown[]> {
  const statements: unknown[] = [];
  for (const table of await tableNames(dataSource)) {
    const [row]: Rows = await dataSource.query(`SHOW CREATE TABLE ${table}`);
    statements.push(String(row?.['Create Table']).replace(/ AUTO_INCREMENT=\d+/, ''));
  }
  const triggers: Rows = await dataSource.query(
    'SELECT trigger_name AS name, event_manipulation AS event, action_statement AS action FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY 1',
  );
  const expressions: Rows = await dataSource.query(
    'SELECT type, `table`, name, value FROM typeorm_metadata ORDER BY type, `table`, name, value',
  );
  return [...statements, ...triggers, ...expressions];
}
