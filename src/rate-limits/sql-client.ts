import type mysql2 from 'mysql2';

/** A counter that takes longer than this is as good as away; and who waits for the pool waits no longer than 900 ms. */
const QUERY_TIMEOUT_MS = 500;
/** So long the counters are left alone after that, as every order would wait for the same time-out. */
const REST_MS = 5000;

type Failure = NodeJS.ErrnoException;
type OnResult = (error: Failure | null, rows?: unknown) => void;
type OnConnection = (error: Failure | null, connection?: LimiterConnection) => void;

/** What rate-limiter-flexible uses of a connection. */
interface LimiterConnection {
  query(sql: string, values: unknown[] | OnResult, onResult?: OnResult): void;
  rollback(): void;
  release(): void;
}

/**
 * The service's pool as rate-limiter-flexible sees it, with what the library leaves out:
 *
 * - every query has a time-out, so that no connection is gone for good with a server that does not answer;
 * - after a time-out it is asked nothing for a while;
 * - a connection on which something failed is closed instead of reused, as its transaction is in an unknown
 *   state. The library's own `rollback()` has no callback: its failure would end the process.
 *
 * @param poolOf the pool, asked for each time.
 * @param onFailure told each failure, which the library would keep to itself.
 */
export function limiterClient(poolOf: () => mysql2.Pool, onFailure: (error: Failure) => void): { getConnection(handover: OnConnection): void } {
  let restsUntil = 0;
  const failed = (error: Failure): void => {
    if (error.code === 'PROTOCOL_SEQUENCE_TIMEOUT') restsUntil = Date.now() + REST_MS;
    onFailure(error);
  };
  return {
    getConnection(handover) {
      if (Date.now() < restsUntil) return handover(new Error('the counters are left alone after a time-out'));
      poolOf().getConnection((error, connection) => {
        if (!error) return handover(null, limiterConnection(connection, failed));
        failed(error);
        handover(error);
      });
    },
  };
}

function limiterConnection(connection: mysql2.PoolConnection, onFailure: (error: Failure) => void): LimiterConnection {
  let isSound = true;
  return {
    query(sql, values, onResult) {
      const done = typeof values === 'function' ? values : onResult;
      connection.query({ sql, values: typeof values === 'function' ? [] : values, timeout: QUERY_TIMEOUT_MS }, (error, rows) => {
        if (error) {
          isSound = false;
          onFailure(error);
        }
        done?.(error, rows);
      });
    },
    // Closing the connection rolls back.
    rollback: () => undefined,
    release: () => (isSound ? connection.release() : connection.destroy()),
  };
}
