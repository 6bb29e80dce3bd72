import { Injectable } from '@nestjs/common';
import { Subject } from 'rxjs';
import type { EntityManager } from 'typeorm';
import type { Recorder } from '../common/domain-event.js';
import { type FairQueue, queueForConnections } from '../common/fair-queue.js';
import { Config } from '../config/config.js';
import { type Outcome, Shared, type SharedRequest } from './shared.js';
import { UnitOfWork } from './unit-of-work.js';

/** How many shared transactions run at the same time: while the database works on one, the process works on another. */
const TRANSACTIONS_AT_ONCE = 2;

/** What the use cases of a shared transaction have in common. */
export interface SharedUseCases<Key> {
  manager: EntityManager;
  record: Recorder;
  requests: readonly SharedRequest<Key>[];
  /** Whether rows that another transaction has locked are left out; otherwise they are waited for. */
  onLocked: 'skip_locked' | undefined;
}

/** Creates statements and transactions that concurrent requests share (docs/decisions/0007-shared-statements.md). */
@Injectable()
export class SharedStatements {
  readonly statements = new Subject<{ kind: string; keys: number }>();
  /** For use cases that are alone in their transactions, and may wait for locks. */
  readonly #alone: FairQueue;

  constructor(
    private readonly config: Config,
    private readonly unitOfWork: UnitOfWork,
  ) {
    this.#alone = queueForConnections(config.DATABASE_POOL_SIZE);
  }

  /**
   * Creates a kind of statement. It must not be used inside a transaction.
   *
   * @param kind names it in the metrics.
   * @param execute executes the statement for one or more keys, and returns a value for each key, in their order.
   * @param options how much of a statement a key takes, and whether events are recorded: then it is a transaction.
   */
  create<Key, Value>(
    kind: string,
    execute: (manager: EntityManager, keys: readonly Key[], record: Recorder) => Promise<Value[]>,
    { sizeOf, recordsEvents = false }: { sizeOf?: (key: Key) => number; recordsEvents?: boolean } = {},
  ): Shared<Key, Value> {
    const run: UnitOfWork['statement'] = (useCase, isRetried) =>
      recordsEvents ? this.unitOfWork.transaction(useCase, isRetried) : this.unitOfWork.statement(useCase, isRetried);
    const send = async (requests: readonly SharedRequest<Key>[], isAlone: boolean): Promise<{ value: Value }[]> => {
      const keys = requests.map(({ key }) => key);
      this.statements.next({ kind, keys: keys.length });
      const values = await run((manager, record) => execute(manager, keys, record), isAlone);
      return values.map((value) => ({ value }));
    };
    return new Shared({ send, ...(sizeOf && { sizeOf }) }, this.config.BATCH);
  }

  /**
   * Creates a kind of transaction for use cases of any merchants.
   *
   * @param lockOf what only one use case of a transaction may have. It claims what else it needs alone.
   * @param perform returns the outcome of each use case; what it throws fails the transaction, and each is tried alone.
   */
  transactions<Key extends { merchantId: string }, Value>(
    kind: string,
    lockOf: (key: Key) => string | undefined,
    perform: (useCases: SharedUseCases<Key>) => Promise<Outcome<Value>[]>,
  ): Shared<Key, Value> {
    const send = (requests: readonly SharedRequest<Key>[], isAlone: boolean): Promise<Outcome<Value>[]> => {
      this.statements.next({ kind, keys: requests.length });
      const onLocked = isAlone ? undefined : 'skip_locked';
      return this.unitOfWork.transaction(
        (manager, record) => perform({ manager, record, requests, onLocked }),
        isAlone,
      );
    };
    const alone = <T>({ merchantId }: Key, work: () => Promise<T>): Promise<T> => this.#alone.run(merchantId, work);
    return new Shared({ send, lockOf, atOnce: TRANSACTIONS_AT_ONCE, alone }, this.config.BATCH);
  }
}
