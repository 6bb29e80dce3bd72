import { type EntityManager } from 'typeorm';
import { ALL_MERCHANTS } from '../../platform/database/by-merchant.js';
import { queryNamed } from '../../platform/database/rows.js';

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

/** The tolerance for instants of different instances, whose clocks may differ. Those of a wallet never go back. */
export const CLOCK_MARGIN = 'INTERVAL 1 MINUTE';

/** Returns the SQL condition that an ID, if it is a UUID v7, was made at an instant. */
export const madeAt = (id: string, at: string): string =>
  `(SUBSTRING(${id}, 15, 1) <> '7' OR CONV(CONCAT(LEFT(${id}, 8), SUBSTRING(${id}, 10, 4)), 16, 10)
    = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ${at}) DIV 1000)`;

/** Returns the SQL condition that two texts, such as stores, have the same bytes, or that neither exists. */
export const isSameText = (one: string, other: string): string => `CAST(${one} AS BINARY) <=> CAST(${other} AS BINARY)`;

/** Returns the SQL condition that an instant is in a day somewhere: from 14 hours before its start in UTC. */
export const isInDay = (at: string, day: string): string =>
  `${at} BETWEEN CAST(${day} AS DATETIME) - INTERVAL 14 HOUR AND CAST(${day} AS DATETIME) + INTERVAL 36 HOUR`;

/** Returns the SQL condition that an instant is the end of a day somewhere: from 10 hours after its start in UTC. */
export const endsDay = (at: string, day: string): string =>
  `(${isInDay(at, day)} AND ${at} >= CAST(${day} AS DATETIME) + INTERVAL 10 HOUR)`;

/** Runs a query on the rows of all merchants, with named parameters: those of the page and others. */
export const queryPage = <Row>(
  manager: EntityManager,
  sql: string,
  page: Page,
  others: Record<string, unknown> = {},
): Promise<Row[]> => queryNamed<Row>(manager, `/* ${ALL_MERCHANTS} */ ${sql}`, { ...page, ...others });
