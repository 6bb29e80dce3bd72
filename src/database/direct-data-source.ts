import type mysql2 from 'mysql2';
import { DataSource, type ObjectLiteral, QueryFailedError, type QueryRunner } from 'typeorm';

/**
 * A DataSource that hands a statement of its own, outside of a transaction, straight to the pool. TypeORM would make a
 * query runner for it and tell subscribers of which there are none, which takes about a tenth of the processor time of an order.
 */
export class DirectDataSource extends DataSource {
  /** @throws QueryFailedError as TypeORM does; what the pool said if it gave no connection. */
  override query<T>(sql: string, parameters?: unknown[] | ObjectLiteral, runner?: QueryRunner): Promise<T> {
    if (runner) return super.query<T>(sql, parameters, runner);
    const { pool } = this.driver as unknown as { pool: mysql2.Pool };
    const statement = { sql, timeout: this.options.maxQueryExecutionTime };
    return new Promise((resolve, reject) => {
      pool.getConnection((noConnection, connection) => {
        if (noConnection) return reject(noConnection);
        connection.query(statement, parameters, (error, result) => {
          connection.release();
          if (error) reject(new QueryFailedError(sql, parameters as unknown[], error));
          else resolve(result as T);
        });
      });
    });
  }
}
