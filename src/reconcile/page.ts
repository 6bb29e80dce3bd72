import type { EntityManager } from 'typeorm';
import { ALL_MERCHANTS } from '../database/all-merchants.js';

/** A broken rule, with the figures of the rows that break it. */
export interface Finding {
  invariant: string;
  [figure: string]: unknown;
}

/** SQL queries by the title of their rule. Each returns the rows of a page that break the rule. */
export type SqlChecks = Readonly<Record<string, string>>;

/** A page: the wallets or orders with IDs after `after` and up to `upto`, and all rows that refer to such an ID. */
export interface Page {
  after: string;
  upto: string;
}

/** No ID is greater. The last page ends here, so that it includes rows that refer to missing wallets or orders. */
export const LAST_ID = '~';

/** Returns the SQL condition that a column with IDs of wallets or orders is in the page. */
export const inPage = (column: string): string => `${column} > :after AND ${column} <= :upto`;

/** The tolerance for comparing instants of different instances, whose clocks may differ. */
export const CLOCK_MARGIN = 'INTERVAL 1 MINUTE';

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
