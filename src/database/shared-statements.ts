import { Injectable } from '@nestjs/common';
import { Subject } from 'rxjs';
import type { EntityManager } from 'typeorm';
import type { Recorder } from '../common/domain-event.js';
import { Config } from '../config/config.js';
import { isUnavailable, lockConflict } from './errors.js';
import { UnitOfWork } from './unit-of-work.js';

/** After this time later requests no longer wait for a statement, which may be waiting for a lock. */
const SLOW_MS = 20;

/** The maximum size of a statement: far below the server's `max_allowed_packet`, also for the largest rows. */
const MAX_SIZE = 200;

interface Waiting<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets concurrent requests share statements: while a statement runs, the requests that arrive wait and go together in
 * the next one. There is no timer, so a request that comes alone does not wait.
 */
export class SharedStatement<Key, Value> {
  #waiting: Waiting<Key, Value>[] = [];
  #isRunning = false;

  /**
   * @param send executes a statement for one or more keys, and returns a value for each key.
   * @param sizeOf how much of a statement a key takes.
   * @param isShared whether keys share statements; otherwise, each has its own.
   */
  constructor(
    private readonly send: (keys: readonly Key[]) => Promise<readonly Value[]>,
    private readonly sizeOf: (key: Key) => number,
    private readonly isShared: boolean,
  ) {}

  /** The statement is sent after this call; its error, if any, is that of this key alone. */
  get(key: Key): Promise<Value> {
    return new Promise((resolve, reject) => {
      const waiting = { key, resolve, reject };
      if (!this.isShared) return void this.#answer([waiting]);
      this.#waiting.push(waiting);
      this.#sendNext();
    });
  }

  #sendNext(): void {
    if (this.#isRunning || this.#waiting.length === 0) return;
    this.#isRunning = true;
    let hasEnded = false;
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      this.#isRunning = false;
      this.#sendNext();
    };
    // Wait one tick, so that requests already received can join.
    setImmediate(() => {
      const slow = setTimeout(end, SLOW_MS);
      void this.#answer(this.#take()).then(() => {
        clearTimeout(slow);
        end();
      });
    });
  }

  #take(): Waiting<Key, Value>[] {
    let count = 0;
    for (let size = 0; count < this.#waiting.length; count++) {
      size += this.sizeOf((this.#waiting[count] as Waiting<Key, Value>).key);
      if (count > 0 && size > MAX_SIZE) break;
    }
    return this.#waiting.splice(0, count);
  }

  /** Settles all requests of a statement, except those that it tries again one by one. */
  async #answer(requests: readonly Waiting<Key, Value>[]): Promise<void> {
    try {
      const values = await this.send(requests.map(({ key }) => key));
      requests.forEach(({ resolve }, index) => resolve(values[index] as Value));
    } catch (error) {
      // One key's error must not fail the others. If the database is unavailable, it is so for all of them.
      const isOfAll = isUnavailable(error) && lockConflict(error) === undefined;
      if (requests.length > 1 && !isOfAll) for (const waiting of requests) void this.#answer([waiting]);
      else for (const { reject } of requests) reject(error);
    }
  }
}

@Injectable()
export class SharedStatements {
  readonly statements = new Subject<{ kind: string; keys: number }>();

  constructor(
    private readonly config: Config,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /**
   * Creates a kind of statement. It must not be used inside a transaction.
   *
   * @param kind names it in the metrics.
   * @param send executes the statement for one or more keys, and returns a value for each key, in their order.
   */
  create<Key, Value>(
    kind: string,
    send: (manager: EntityManager, keys: readonly Key[], record: Recorder) => Promise<Value[]>,
    sizeOf: (key: Key) => number = () => 1,
  ): SharedStatement<Key, Value> {
    const sendCounted = (keys: readonly Key[]): Promise<Value[]> => {
      this.statements.next({ kind, keys: keys.length });
      return this.unitOfWork.statement((manager, record) => send(manager, keys, record), keys.length === 1);
    };
    return new SharedStatement(sendCounted, sizeOf, this.config.BATCH);
  }
}
