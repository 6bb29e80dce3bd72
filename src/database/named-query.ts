import type { EntityManager } from 'typeorm';

/** Runs a query with named parameters, which may occur several times. */
export function queryNamed<Row>(
  manager: EntityManager,
  sql: string,
  parameters: Record<string, unknown>,
): Promise<Row[]> {
  const [text, values] = manager.dataSource.driver.escapeQueryWithParameters(sql, parameters);
  return manager.query<Row[]>(text, values);
}
