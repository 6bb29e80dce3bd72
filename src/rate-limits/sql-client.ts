import type mysql2 from 'mysql2';

/** A counter that takes longer than this is as good as away; and who waits for the pool waits no longer than 900 ms. */
const QUERY_TIMEOUT_MS = 500;
/** So long the counters are left alone after that, as every order would wait for the same time-out. */
const REST_MS = 5000;

type Failure = NodeJS.ErrnoException;
type OnResult = (error: Failure | null, result?: unknown) => void;
type OnConnection = (error: Failure | null, connection?: LimiterConnection) => void;

/** What rate-limiter-flexible uses of a connection. */
interface LimiterConnection {
  query(sql: string, values: unknown[], onResult: OnResult): void;
  release(): void;
}

/** What a limiter uses of a pool. */
export interface LimiterClient {
  getConnection(handover: OnConnection): void;
  /** One statement on a connection of its own. */
  query<Result>(sql: string, values: unknown[]): Promise<Result>;
}

/**
 * The service's pool as a limiter sees it, with what rate-limiter-flexible leaves out: every query has a time-out, so
 * that no connection is gone for good with a server that does not answer, and after one it is asked nothing for a while.
 *
 * @param poolOf the pool, asked for each time.
 * @param onFailure told each failure, which the library would keep to itself.
 */
export function limiterClient(poolOf: () => mysql2.Pool, onFailure: (error: Failure) => void): LimiterClient {
  let restsUntil = 0;
  const failed = (error: Failure): void => {
    if (error.code === 'PROTOCOL_SEQUENCE_TIMEOUT') restsUntil = Date.now() + REST_MS;
    onFailure(error);
  };
  const getConnection = (handover: OnConnection): void => {
    if (Date.now() < restsUntil) return handover(new Error('the counters are left alone after a time-out'));
    poolOf().getConnection((error, connection) => {
      if (!error) return handover(null, limiterConnection(connection, failed));
      failed(error);
      handover(error);
    });
  };
  const query = <Result>(sql: string, values: unknown[]): Promise<Result> =>
    new Promise((resolve, reject) => {
      getConnection((error, connection) => {
        if (!connection) return reject(error ?? new Error('no connection'));
        connection.query(sql, values, (failure, result) => {
          connection.release();
          if (failure) reject(failure);
          else resolve(result as Result);
        });
      });
    });
  return { getConnection, query };
}

function limiterConnection(connection: mysql2.PoolConnection, onFailure: (error: Failure) => void): LimiterConnection {
  return {
    query(sql, values, onResult) {
      connection.query({ sql, timeout: QUERY_TIMEOUT_MS }, values, (error, result) => {
        if (error) onFailure(error);
        onResult(error, result);
      });
    },
    release: () => connection.release(),
  };
}
