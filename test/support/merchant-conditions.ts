import diagnostics from 'node:diagnostics_channel';
import type { DataSource } from 'typeorm';
import { ALL_MERCHANTS } from '../../src/platform/database/by-merchant.js';

/** The tables of merchants. Each has a merchant, by which it can be partitioned. */
const MONEY = 'orders|refunds|customer_changes|grant_totals|wallets|debits|cashback_(?:credits|holds|entries|grants)';
const SUMS = '(?:ledger|sales|refund|grant)_days|sum_positions';
const TABLES = `(?:${MONEY}|${SUMS}|events|event_(?:outbox|feeds)|webhook_endpoints|policy_(?:versions|bases))\\b`;
const INSERT = new RegExp(`\\bINTO ${TABLES}\\s*\\(([^)]*)\\)`, 'g');
const USE = new RegExp(`\\b(?:FROM|JOIN|(?<!KEY )UPDATE) ${TABLES}(?: (\\w+))?`, 'g');
const NO_ALIAS = new Set(['WHERE', 'SET', 'FORCE', 'LEFT', 'JOIN', 'ORDER', 'LIMIT', 'UNION']);

/**
 * Returns which parts of a statement do not name the merchant: each use of a merchant's table needs a condition on
 * its merchant, and each new row its merchant. Only a SELECT without locks may read all merchants, and it must say so.
 */
export function partsWithoutMerchant(statement: string): string[] {
  const sql = statement.replaceAll('`', '').replaceAll(/\s+/g, ' ').trim();
  const isRead = /^\/\* [\w ]+ \*\/ (?:SELECT|WITH) /.test(sql) && !/\b(?:UPDATE|DELETE)\b/.test(sql);
  if (isRead && sql.startsWith(`/* ${ALL_MERCHANTS} */`)) return [];
  const parts = [...sql.matchAll(INSERT)].flatMap(([part, columns]) =>
    /\bmerchant_id\b/.test(columns!) ? [] : [part],
  );
  const uses = Array.from(sql.matchAll(USE), ([part, alias = 'WHERE']) => ({
    part,
    prefix: NO_ALIAS.has(alias) ? '' : `${alias}\\.`,
  }));
  for (const prefix of new Set(uses.map((use) => use.prefix))) {
    const conditions = sql.matchAll(new RegExp(`(?<![\\w.])${prefix}merchant_id (?:=|IN) `, 'g'));
    const same = uses.filter((use) => use.prefix === prefix);
    parts.push(...same.slice([...conditions].length).map(({ part }) => part));
  }
  // The other conditions compare two tables.
  const isBound = uses.length === 0 || /\bmerchant_id (?:= |IN \()['?]/.test(sql);
  return isBound ? parts : [sql, ...parts];
}

function refuse(statement: string): void {
  const parts = partsWithoutMerchant(statement);
  if (parts.length > 0)
    throw new Error(
      `a statement does not name the merchant (docs/architecture.md) in ${parts.join(', ')}: ${statement}`,
    );
}

/** Prints the reason, because the test only sees that a request failed. */
function refuseLoudly(statement: string): void {
  try {
    refuse(statement);
  } catch (error) {
    console.error(error);
    throw error;
  }
}

/**
 * Lets every statement of a service fail that does not name the merchant, and so the request that needs it.
 *
 * @returns the same data source, for the statements of tests, which may have any conditions.
 */
export function refuseWithoutMerchant(dataSource: DataSource): DataSource {
  const { logger } = dataSource;
  const logQuery = logger.logQuery.bind(logger);
  const checked = new Set<string>();
  logger.logQuery = (sql, ...rest) => {
    if (!checked.has(sql)) refuseLoudly(sql);
    checked.add(sql);
    logQuery(sql, ...rest);
  };
  const query = (sql: string, ...rest: unknown[]): Promise<unknown> => {
    checked.add(sql);
    return dataSource.query(sql, ...(rest as [unknown[]]));
  };
  return Object.create(dataSource, { query: { value: query } }) as DataSource;
}

/** Runs an admin command, and fails if one of its statements does not name the merchant. */
export async function refusingWithoutMerchant<T>(command: () => Promise<T>): Promise<T> {
  const sent: string[] = [];
  const record = (message: unknown): void => void sent.push((message as { query: string }).query);
  diagnostics.subscribe('tracing:mysql2:query:start', record);
  try {
    return await command();
  } finally {
    diagnostics.unsubscribe('tracing:mysql2:query:start', record);
    sent.forEach(refuse);
  }
}
