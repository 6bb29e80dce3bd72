import type mysql2 from 'mysql2';

/** A counter that takes longer than this is as good as away. */
const QUERY_TIMEOUT_MS = 1000;

type OnResult = (error: Error | null, rows?: unknown) => void;
type OnConnection = (error: Error | null, connection?: LimiterConnection) => void;

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
 * - a connection on which something failed is closed instead of reused, as its transaction is in an unknown
 *   state. The library's own `rollback()` has no callback: its failure would end the process.
 *
 * @param poolOf the pool, asked for each time.
 * @param onFailure told each failure, which the library would keep to itself.
 */
export function limiterClient(poolOf: () => mysql2.Pool, onFailure: (error: Error) => void): { getConnection(handover: OnConnection): void } {
  return {
    getConnection: (handover) =>
      poolOf().getConnection((error, connection) => {
        if (!error) return handover(null, limiterConnection(connection, onFailure));
        onFailure(error);
        handover(error);
      }),
  };
}

function limiterConnection(connection: mysql2.PoolConnection, onFailure: (error: Error) => void): LimiterConnection {
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
