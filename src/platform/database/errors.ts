import { QueryFailedError } from 'typeorm';

interface DatabaseError {
  /** A name such as ER_DUP_ENTRY, or Node's code for a network error. mysql2 has no names for MariaDB's own errors. */
  code?: string;
  errno?: number;
  sqlState?: string;
  fatal?: boolean;
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

/** The server takes no changes, for now or until another one is the writer. */
const READ_ONLY = new Set([
  // ER_OPEN_AS_READONLY, ER_OPTION_PREVENTS_STATEMENT (read_only), ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
  // ER_READ_ONLY_MODE, ER_INNODB_READ_ONLY, ER_INNODB_FORCED_RECOVERY, ER_SCHEMA_READ_ONLY
  1036, 1290, 1792, 1836, 1874, 1881, 3989,
  // A Galera node without a quorum: ER_UNKNOWN_COM_ERROR. Group Replication: ER_SERVER_OFFLINE_MODE (and …_REASON),
  // ER_RUN_HOOK_ERROR; a new primary, ER_GR_HOLD_…; others, ER_GRP_TRX_CONSISTENCY_…
  1047, 3032, 6400, 3100, 3781, 3782, 3783, 3796, 3797, 3798, 3799,
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
  // EE_WRITE, EE_DISK_FULL, ER_DISK_FULL, ER_ERROR_ON_WRITE (of the binary log), ER_RECORD_FILE_FULL (of the table)
  3, 20, 1021, 1026, 1114,
  // ER_IO_WRITE_ERROR, ER_TEMP_FILE_WRITE_FAILURE, ER_INNODB_UNDO_LOG_FULL, ER_DISK_FULL_NOWAIT
  1811, 1878, 3019, 3675,
]);

export const isDiskFull = (error: unknown): boolean => has(DISK_FULL, error);

const TIME_LIMIT = new Set([
  1969, // ER_STATEMENT_TIMEOUT: MariaDB's max_statement_time.
  3024, // ER_QUERY_TIMEOUT: MySQL's max_execution_time.
]);

/** The server worked on a statement for longer than it may. */
export const isTimeLimit = (error: unknown): boolean => has(TIME_LIMIT, error);

/** What the server cannot do now. Besides, errors below 1000 are of its files, and the class 08 of connections. */
const UNAVAILABLE = new Set([
  // Files: ER_CANT_CREATE_FILE, ER_CANT_OPEN_FILE, ER_ERROR_ON_READ, ER_GET_ERRNO (of the engine), ER_IO_READ_ERROR
  1004, 1016, 1024, 1030, 1810,
  // Memory: ER_OUTOFMEMORY, ER_OUT_OF_SORTMEMORY, ER_OUT_OF_RESOURCES, ER_ENGINE_OUT_OF_MEMORY, ER_CAPACITY_EXCEEDED
  1037, 1038, 1041, 3015, 3170,
  // Locks: ER_LOCK_TABLE_FULL, ER_TOO_MANY_CONCURRENT_TRXS, ER_LOCK_ABORTED, ER_MDL_OUT_OF_RESOURCES
  1206, 1637, 1689, 3985,
  // Connections: ER_CON_COUNT_ERROR, ER_HOST_IS_BLOCKED, ER_CANT_CREATE_THREAD, ER_TOO_MANY_USER_CONNECTIONS,
  // ER_USER_LIMIT_REACHED, ER_DA_GLOBAL_CONN_LIMIT, ER_DA_CONN_LIMIT
  1040, 1129, 1135, 1203, 1226, 4081, 4082,
  // The service's user, on a new primary or after a change: ER_DBACCESS_DENIED_ERROR, ER_ACCESS_DENIED_ERROR,
  // ER_BAD_DB_ERROR, ER_HOST_NOT_PRIVILEGED, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR,
  // ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_SECURE_TRANSPORT_REQUIRED; a password that expired, a locked account
  1044, 1045, 1049, 1130, 1142, 1143, 1698, 3159, 1820, 1862, 3118, 3955, 4150, 4151,
  // Ended: ER_SERVER_SHUTDOWN, ER_NORMAL_SHUTDOWN, ER_GOT_SIGNAL, ER_SHUTDOWN_COMPLETE, ER_SERVER_ISNT_AVAILABLE,
  // ER_QUERY_INTERRUPTED, ER_CONNECTION_KILLED, ER_SESSION_WAS_KILLED, ER_CLIENT_INTERACTION_TIMEOUT
  1053, 1077, 1078, 1079, 3168, 1317, 1927, 3169, 4031,
  // Commits: ER_ERROR_DURING_COMMIT, ER_ERROR_DURING_ROLLBACK, ER_ERROR_DURING_FLUSH_LOGS, ER_PRIOR_COMMIT_FAILED
  1180, 1181, 1182, 1964,
  // Binary log: ER_BINLOG_ROW_LOGGING_FAILED, ER_BINLOG_FATAL_ERROR, ER_BINLOG_LOGGING_IMPOSSIBLE
  1534, 1593, 1598,
]);

/** The database does not have what this version needs: its migrations have not been applied. */
const NOT_MIGRATED = new Set([
  1054, // ER_BAD_FIELD_ERROR
  1146, // ER_NO_SUCH_TABLE
]);

export const isNotMigrated = (error: unknown): boolean => has(NOT_MIGRATED, error);

/** The database is unreachable or can't execute the statement now, so a retry may succeed. */
export function isUnavailable(error: unknown): boolean {
  const { code, errno = 0, fatal, sqlState = '' } = driverError(error);
  // For mysql2, what ends a connection is fatal: of the network, of TLS, of the protocol.
  if (fatal === true || code === 'PROTOCOL_SEQUENCE_TIMEOUT' || (errno > 0 && errno < 1000)) return true;
  // ER_NET_PACKET_TOO_LARGE, which no retry changes, has that class too.
  if (sqlState.startsWith('08') && errno !== 1153) return true;
  if (has(UNAVAILABLE, error) || isTimeLimit(error) || isNotMigrated(error) || isReadOnly(error)) return true;
  if (isDiskFull(error) || lockConflict(error)) return true;
  // mysql2 gives these no code.
  const message = error instanceof Error ? error.message : '';
  return /Queue limit reached|Pool is closed|in closed state/i.test(message);
}
