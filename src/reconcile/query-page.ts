import type { EntityManager } from 'typeorm';
import type { Page } from './finding.js';

/** Runs a query with named parameters: those of the page and others. */
export function queryPage<Row>(
  manager: EntityManager,
  sql: string,
  page: Page,
  others: Record<string, unknown> = {},
): Promise<Row[]> {
  const [text, values] = manager.dataSource.driver.escapeQueryWithParameters(sql, { ...page, ...others });
  return manager.query<Row[]>(text, values);
}
