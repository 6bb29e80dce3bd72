import type { EntityManager } from 'typeorm';
import { ALL_MERCHANTS } from '../database/all-merchants.js';
import type { Page } from './finding.js';

/** Runs a query with named parameters: those of the page and others. */
export function queryPage<Row>(
  manager: EntityManager,
  sql: string,
  page: Page,
  others: Record<string, unknown> = {},
): Promise<Row[]> {
  const [text, values] = manager.dataSource.driver.escapeQueryWithParameters(sql, { ...page, ...others });
  return queryAll(manager, text, values);
}

/** Runs a query on the rows of all merchants. */
export function queryAll<Row>(manager: EntityManager, sql: string, values: unknown[]): Promise<Row[]> {
  return manager.query<Row[]>(`/* ${ALL_MERCHANTS} */ ${sql}`, values);
}
