import { QueryFailedError } from 'typeorm';

/** The server's own code for an error, such as ER_DUP_ENTRY, wherever it is kept. */
function codeOf(error: unknown): string | undefined {
  const source = error instanceof QueryFailedError ? (error.driverError as unknown) : error;
  return (source as { code?: string } | undefined)?.code;
}

/**
 * The name of the unique constraint that refused a row, so that it can be mapped to a domain error.
 * MySQL says `for key 'orders.uq_name'`, MariaDB `for key 'uq_name'`.
 */
export function violatedUniqueKey(error: unknown): string | undefined {
  if (codeOf(error) !== 'ER_DUP_ENTRY') return undefined;
  const message = (error as Error).message;
  return /for key '(?:[^'.]*\.)?([^']+)'$/.exec(message)?.[1];
}

/**
 * A deadlock (the whole transaction is gone) or a lock that did not come in time (only the statement
 * is gone): on either, roll back and run the use case anew.
 */
export function isLockConflict(error: unknown): boolean {
  return ['ER_LOCK_DEADLOCK', 'ER_LOCK_WAIT_TIMEOUT', 'ER_CHECKREAD'].includes(codeOf(error) ?? '');
}

const AWAY = new Set([
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
  'POOL_EXHAUSTED',
  'ER_SERVER_SHUTDOWN',
  'ER_CON_COUNT_ERROR',
  'ER_TOO_MANY_USER_CONNECTIONS',
  'ER_QUERY_INTERRUPTED',
  'ER_CONNECTION_KILLED',
  'ER_CLIENT_INTERACTION_TIMEOUT',
  'ER_NORMAL_SHUTDOWN',
]);

/** Whether the database can't be reached or asked at the moment: the caller is told to come again. */
export function isUnavailable(error: unknown): boolean {
  if (AWAY.has(codeOf(error) ?? '') || isLockConflict(error)) return true;
  // mysql2 gives these no code of their own.
  const message = error instanceof Error ? error.message : '';
  return /Queue limit reached|Pool is closed|Can't add new command when connection is in closed state|Connection lost/i.test(
    message,
  );
}
