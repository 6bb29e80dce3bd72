import type { DataSource, EntityManager, QueryRunner } from 'typeorm';

/** An SQL text with its parameters. */
export interface Statement {
  sql: string;
  parameters: readonly unknown[];
}

/** A statement that changes rows. */
export interface Write extends Statement {
  /** How many rows it has. */
  rows: number;
  /** The error if it changes another number of rows; by default, that is no error. */
  otherwise?: string;
}

/** What runs statements and knows the entities: a `Transaction`, or TypeORM's manager. */
export type Connection = Pick<EntityManager, 'query' | 'dataSource'>;

interface Unsent extends Statement {
  resolve?: (result: never) => void;
  reject?: (error: unknown) => void;
}

/** The maximum number of rows that wait to be sent: far below the server's `max_allowed_packet`. */
const MAX_ROWS = 2000;

/**
 * A transaction with few round trips: writes wait for the next query or the commit, and queries that begin together are
 * sent together. All statements keep their order. If one fails, the server executes none after it, so the transaction
 * cannot be committed (docs/decisions/0010-fewer-round-trips.md).
 */
export class Transaction implements Connection {
  readonly dataSource: DataSource;
  #unsent: Unsent[] = [{ sql: 'START TRANSACTION', parameters: [] }];
  #rows = 0;
  #isSending = false;
  #error: Error | undefined;

  constructor(private readonly runner: QueryRunner) {
    this.dataSource = runner.dataSource;
  }

  /** Runs a statement and returns its rows. */
  query<T>(sql: string, parameters: readonly unknown[] = []): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#unsent.push({ sql, parameters, resolve, reject });
      if (this.#isSending) return;
      this.#isSending = true;
      queueMicrotask(() => void this.#send());
    });
  }

  /** Changes rows, before the next query or the commit, which fails if this does. */
  async write({ sql, parameters, rows, otherwise }: Write): Promise<void> {
    const resolve = ({ affectedRows }: { affectedRows: number }): void => {
      if (otherwise !== undefined && affectedRows !== rows) throw new Error(otherwise);
    };
    this.#unsent.push({ sql, parameters, resolve });
    this.#rows += rows;
    if (this.#rows >= MAX_ROWS) await this.#send();
  }

  async commit(): Promise<void> {
    // Whether all rows were changed must be known before.
    await this.#send();
    if (this.#error !== undefined) throw this.#error;
    await this.runner.query('COMMIT');
  }

  /** Sends what waits. Never throws: the error is that of the queries, and of the commit. */
  async #send(): Promise<void> {
    const sent = this.#unsent.splice(0);
    this.#isSending = false;
    this.#rows = 0;
    if (sent.length === 0) return;
    try {
      const sql = sent.map((statement) => statement.sql).join(';\n');
      const parameters = sent.flatMap((statement) => statement.parameters);
      const result: unknown = await this.runner.query(sql, parameters);
      const results = sent.length === 1 ? [result] : (result as unknown[]);
      sent.forEach(({ resolve }, at) => resolve?.(results[at] as never));
    } catch (error) {
      this.#error ??= error as Error;
      for (const { reject } of sent) reject?.(error);
    }
  }
}
