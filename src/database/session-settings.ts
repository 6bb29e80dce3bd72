import type mysql2 from 'mysql2';

/** The time limit for each of the statements that prepare a connection. */
const TIMEOUT_MS = 3000;

/** Time limits of a connection. They are short for requests; the operator's commands and migrations have more time. */
export interface ConnectionLimits {
  /** Milliseconds after which the server interrupts a statement; 0 means never. MySQL only interrupts SELECT. */
  statementMs: number;
  /** Seconds that a statement waits for another one that changes the table's definition. */
  tableLockSeconds: number;
  /** Milliseconds that a caller waits while the pool hands out no connection at all. */
  stalledMs: number;
}

/** The variables that only servers of a cluster have, with their values. */
type ClusterVariables = Record<string, string>;

/** Any user may read them, also on a server that rejects other reads. */
const SHOW_CLUSTER_VARIABLES =
  "SHOW SESSION VARIABLES WHERE Variable_name IN ('wsrep_on', 'wsrep_sync_wait', 'group_replication_consistency')";

/** Prepares a new connection, so that it does not depend on the server's defaults. */
export async function applySettings(connection: mysql2.Connection, limits: ConnectionLimits): Promise<void> {
  await ask(connection, sessionSettings(limits));
  const variables: ClusterVariables = {};
  for (const { Variable_name: name, Value: value } of await ask(connection, SHOW_CLUSTER_VARIABLES))
    variables[name as string] = value as string;
  const settings = clusterSettings(variables);
  if (settings.length > 0) await ask(connection, `SET ${settings.join(', ')}`);
}

function ask(connection: mysql2.Connection, sql: string): Promise<mysql2.RowDataPacket[]> {
  return new Promise((resolve, reject) => {
    connection.query<mysql2.RowDataPacket[]>({ sql, timeout: TIMEOUT_MS }, (error, rows) =>
      error ? reject(error) : resolve(rows),
    );
  });
}

/** Before a transaction, and before each SELECT, UPDATE, DELETE and INSERT outside of one. */
const SYNC_WAIT = 1 | 2 | 4;

/**
 * Returns the settings with which a node of a cluster first applies what other nodes have committed. Otherwise a
 * request that a caller sends to another instance does not find what the last response confirmed. Stricter settings
 * stay.
 */
function clusterSettings(variables: ClusterVariables): string[] {
  const settings: string[] = [];
  if (variables.wsrep_on === 'ON')
    settings.push(`SESSION wsrep_sync_wait = ${Number(variables.wsrep_sync_wait) | SYNC_WAIT}`);
  if (variables.group_replication_consistency === 'EVENTUAL')
    settings.push("SESSION group_replication_consistency = 'BEFORE_ON_PRIMARY_FAILOVER'");
  return settings;
}

/**
 * Returns the statement that makes a new connection independent of the server's defaults. It is a single statement, so
 * a connection has all of the settings or none.
 *
 * Only MySQL executes `/*!80000 … *\/`, and only MariaDB executes `/*M! … *\/`: the names of the settings depend on the
 * server and not on the URL's scheme.
 */
function sessionSettings({ statementMs, tableLockSeconds }: ConnectionLimits): string {
  const both = [
    'SET NAMES utf8mb4',
    'SESSION autocommit = 1',
    "completion_type = 'NO_CHAIN'",
    "sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
    "time_zone = '+00:00'",
    "lc_messages = 'en_US'",
    'foreign_key_checks = 1',
    'unique_checks = 1',
    'sql_safe_updates = 0',
    'sql_auto_is_null = 0',
    'sql_select_limit = 18446744073709551615',
    'sql_big_selects = 1',
    // Shorter than the client's timeout, so that the use case can be retried.
    'innodb_lock_wait_timeout = 2',
    `lock_wait_timeout = ${tableLockSeconds}`,
  ];
  const mysql = [
    "transaction_isolation = 'READ-COMMITTED'",
    'transaction_read_only = 0',
    `max_execution_time = ${statementMs}`,
  ];
  const mariadb = [
    "tx_isolation = 'READ-COMMITTED'",
    'tx_read_only = 0',
    'check_constraint_checks = 1',
    `max_statement_time = ${statementMs / 1000}`,
  ];
  return `${both.join(', ')} /*!80000 , ${mysql.join(', ')} */ /*M! , ${mariadb.join(', ')} */`;
}
