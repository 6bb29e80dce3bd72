import { QueryFailedError } from 'typeorm';

interface DatabaseError {
  /** A name such as ER_DUP_ENTRY, or Node's code for a network error. mysql2 has no names for MariaDB's own errors. */
  code?: string;
  errno?: number;
}

function driverError(error: unknown): DatabaseError {
  const source: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return source ?? {};
}

const has = (numbers: ReadonlySet<number>, error: unknown): boolean => numbers.has(driverError(error).errno ?? 0);

/**
 * Returns the name of the violated unique key, so that it can be mapped to a domain error. In every language of the
 * server, the name is the last quoted text: `for key 'orders.uq_name'` in MySQL, `for key 'uq_name'` in MariaDB.
 */
export function violatedUniqueKey(error: unknown): string | undefined {
  if (driverError(error).code !== 'ER_DUP_ENTRY') return undefined;
  return /'(?:[^'.]*\.)?([^'.]+)'[^']*$/.exec((error as Error).message)?.[1];
}

export type LockConflict = 'lock_wait_timeout' | 'deadlock' | 'record_changed' | 'group_conflict';

const LOCK_CONFLICTS: Record<number, LockConflict> = {
  1205: 'lock_wait_timeout', // ER_LOCK_WAIT_TIMEOUT: only the statement was rolled back.
  1213: 'deadlock', // ER_LOCK_DEADLOCK: the transaction was rolled back. Galera also reports conflicts between nodes with it.
  1020: 'record_changed', // ER_CHECKREAD: MariaDB with innodb_snapshot_isolation.
  3101: 'group_conflict', // ER_TRANSACTION_ROLLBACK_DURING_COMMIT: Group Replication.
};

export const lockConflicts = (): LockConflict[] => Object.values(LOCK_CONFLICTS);

/** The kind of conflict with another transaction, if any. The use case can be rolled back and run again. */
export function lockConflict(error: unknown): LockConflict | undefined {
  return LOCK_CONFLICTS[driverError(error).errno ?? 0];
}

const READ_ONLY = new Set([
  1036, // ER_OPEN_AS_READONLY: innodb_read_only.
  1290, // ER_OPTION_PREVENTS_STATEMENT: read_only, super_read_only; Aurora and a secondary of Group Replication.
  1792, // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
  1836, // ER_READ_ONLY_MODE: innodb_read_only.
  1047, // ER_UNKNOWN_COM_ERROR: a Galera node without a quorum.
  3032, // ER_SERVER_OFFLINE_MODE: a server that left its group.
  3100, // ER_RUN_HOOK_ERROR: Group Replication could not commit.
  3796, // ER_GR_HOLD_WAIT_TIMEOUT: a new primary does not yet have what the earlier one committed.
  3797, // ER_GR_HOLD_KILLED
  3798, // ER_GR_HOLD_MEMBER_STATUS_ERROR: the server left its group meanwhile.
]);

const isReadOnly = (error: unknown): boolean => has(READ_ONLY, error);

/**
 * Returns whether a connection must not be used again after this error: a statement that timed out still runs on it, or
 * its server no longer accepts changes.
 */
export function isConnectionUnusable(error: unknown): boolean {
  return driverError(error).code === 'PROTOCOL_SEQUENCE_TIMEOUT' || isReadOnly(error);
}

const DISK_FULL = new Set([
  1021, // ER_DISK_FULL
  1114, // ER_RECORD_FILE_FULL: the table is full.
]);

export const isDiskFull = (error: unknown): boolean => has(DISK_FULL, error);

const TIME_LIMIT = new Set([
  1969, // ER_STATEMENT_TIMEOUT: MariaDB's max_statement_time.
  3024, // ER_QUERY_TIMEOUT: MySQL's max_execution_time.
]);

/** The server worked on a statement for longer than it may. */
export const isTimeLimit = (error: unknown): boolean => has(TIME_LIMIT, error);

const UNAVAILABLE = new Set([
  ...TIME_LIMIT,
  1037, // ER_OUTOFMEMORY
  1040, // ER_CON_COUNT_ERROR: max_connections.
  1041, // ER_OUT_OF_RESOURCES
  1044, // ER_DBACCESS_DENIED_ERROR
  1045, // ER_ACCESS_DENIED_ERROR: the password has changed, or the user does not exist on a new primary.
  1049, // ER_BAD_DB_ERROR
  1053, // ER_SERVER_SHUTDOWN
  1077, // ER_NORMAL_SHUTDOWN
  1129, // ER_HOST_IS_BLOCKED: too many connections of this host failed.
  1135, // ER_CANT_CREATE_THREAD
  1180, // ER_ERROR_DURING_COMMIT
  1203, // ER_TOO_MANY_USER_CONNECTIONS
  1206, // ER_LOCK_TABLE_FULL
  1226, // ER_USER_LIMIT_REACHED: max_user_connections and the hourly limits.
  1317, // ER_QUERY_INTERRUPTED
  1637, // ER_TOO_MANY_CONCURRENT_TRXS
  1698, // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
  1862, // ER_MUST_CHANGE_PASSWORD_LOGIN
  1927, // ER_CONNECTION_KILLED
  3118, // ER_ACCOUNT_HAS_BEEN_LOCKED
  3168, // ER_SERVER_ISNT_AVAILABLE
  3169, // ER_SESSION_WAS_KILLED
  4031, // ER_CLIENT_INTERACTION_TIMEOUT
  4151, // ER_ACCOUNT_HAS_BEEN_LOCKED: MariaDB.
]);

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
]);

/** The database does not have what this version needs: its migrations have not been applied. */
const NOT_MIGRATED = new Set([
  1054, // ER_BAD_FIELD_ERROR
  1146, // ER_NO_SUCH_TABLE
]);

export const isNotMigrated = (error: unknown): boolean => has(NOT_MIGRATED, error);

/** The database is unreachable or can't execute the statement now, so a retry may succeed. */
export function isUnavailable(error: unknown): boolean {
  if (UNREACHABLE.has(driverError(error).code ?? '')) return true;
  if (has(UNAVAILABLE, error) || isNotMigrated(error) || isReadOnly(error) || isDiskFull(error) || lockConflict(error))
    return true;
  // mysql2 gives these no code.
  const message = error instanceof Error ? error.message : '';
  return /Queue limit reached|Pool is closed|Can't add new command when connection is in closed state|Connection lost/i.test(
    message,
  );
}
