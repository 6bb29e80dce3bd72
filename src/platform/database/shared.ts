import { Injectable } from '@nestjs/common';
import { Subject } from 'rxjs';
import { type EntityManager } from 'typeorm';
import { Config } from '../config/config.js';
import { type Recorder } from '../values/domain-event.js';
import { type FairQueue, queueForConnections } from '../values/fair-queue.js';
import { unavailable } from '../values/problem.js';
import { TURN_MS } from '../values/time-limits.js';
import { isUnavailable, lockConflict } from './errors.js';
import { UnitOfWork, type UseCase } from './unit-of-work.js';

/** What the use cases of a shared transaction have in common. */
export interface SharedUseCases<Key> {
  manager: EntityManager;
  record: Recorder;
  keys: readonly Key[];
  /** Whether rows that another transaction has locked are left out; otherwise they are waited for. */
  onLocked: 'skip_locked' | undefined;
}

/** Creates statements and transactions that concurrent requests share (docs/decisions/0007-shared-statements.md). */
@Injectable()
export class SharedStatements {
  readonly statements = new Subject<{ kind: string; keys: number }>();
  /** For transactions that may wait for locks. */
  readonly #turns: FairQueue;

  constructor(
    private readonly config: Config,
    private readonly unitOfWork: UnitOfWork,
  ) {
    this.#turns = queueForConnections(config.DATABASE_POOL_SIZE);
  }

  /**
   * Creates a kind of statement. It must not be used inside a transaction.
   *
   * @param kind names it in the metrics.
   * @param execute executes the statement for one or more keys, and returns a value for each key, in their order.
   * @param options how much of a statement a key takes, and whether events are recorded: then it is a transaction.
   */
  createStatement<Key, Value>(
    kind: string,
    execute: (manager: EntityManager, keys: readonly Key[], record: Recorder) => Promise<Value[]>,
    { sizeOf, recordsEvents = false }: { sizeOf?: (key: Key) => number; recordsEvents?: boolean } = {},
  ): Shared<Key, Value> {
    const run: UnitOfWork['statement'] = (useCase, isRetried) =>
      recordsEvents ? this.unitOfWork.transaction(useCase, isRetried) : this.unitOfWork.statement(useCase, isRetried);
    const send = async (keys: readonly Key[]): Promise<{ value: Value }[]> => {
      this.statements.next({ kind, keys: keys.length });
      const values = await run((manager, record) => execute(manager, keys, record), keys.length === 1);
      return values.map((value) => ({ value }));
    };
    return new Shared({ send, ...(sizeOf && { sizeOf }) }, this.config.BATCH);
  }

  /**
   * Creates a kind of transaction for use cases of any merchants.
   *
   * @param idOf what only one use case of a transaction may have.
   * @param perform returns the outcome of each use case; what it throws fails the transaction, and each is tried alone.
   * @param sizeOf how much of a transaction a use case takes.
   */
  createTransaction<Key extends { merchantId: string }, Value>(
    kind: string,
    idOf: (key: Key) => string | undefined,
    perform: (useCases: SharedUseCases<Key>) => Promise<Outcome<Value>[]>,
    sizeOf: (key: Key) => number = () => 1,
  ): Shared<Key, Value> {
    const send = (keys: readonly Key[], waits: boolean): Promise<Outcome<Value>[]> => {
      this.statements.next({ kind, keys: keys.length });
      const onLocked = waits ? undefined : 'skip_locked';
      return this.unitOfWork.transaction(
        (manager, record) => perform({ manager, record, keys, onLocked }),
        keys.length === 1,
      );
    };
    const turn = <T>({ merchantId }: Key, work: () => Promise<T>): Promise<T> => this.#turns.run(merchantId, work);
    return new Shared({ send, idOf, sizeOf, most: MAX_USE_CASES, turn }, this.config.BATCH);
  }

  /** Runs a use case that waits for locks in a transaction of its own. Enough connections are left for others. */
  transaction<T>(merchantId: string, useCase: UseCase<T>): Promise<T> {
    return this.#turns.run(merchantId, () => this.unitOfWork.transaction(useCase));
  }
}

/** After this time later requests no longer wait for what runs. */
const SLOW_MS = 20;

/** The maximum size of what is sent together: far below the server's `max_allowed_packet`, also for large rows. */
const MAX_SIZE = 200;

/**
 * The maximum number of use cases of a transaction. Those of one wallet have one instant, and `reconcile` compares an
 * event of a wallet with the last 100 entries.
 */
const MAX_USE_CASES = 20;

/** What came of a request that was sent with others. */
export type Outcome<Value> =
  | { value: Value }
  /** It alone fails. */
  | { error: unknown }
  /** It is sent again with those that wait for the same lock. */
  | { behind: string | symbol };

export const isDone = <Value>(outcome: Outcome<Value>): outcome is { value: Value } => 'value' in outcome;

/** How requests are sent. */
interface Sharing<Key, Value> {
  /**
   * Executes one or more requests, and returns the outcome of each.
   *
   * @param waits whether it waits for locks; otherwise what is locked is left out.
   */
  send: (keys: readonly Key[], waits: boolean) => Promise<readonly Outcome<Value>[]>;
  /** How much of the maximum size a request takes; by default, 1. */
  sizeOf?: (key: Key) => number;
  /** How many requests are sent together; by default, as many as their size allows. */
  most?: number;
  /** What only one of the requests that are sent together may have. */
  idOf?: (key: Key) => string | undefined;
  /** Bounds how many wait for locks. */
  turn?: <T>(key: Key, send: () => Promise<T>) => Promise<T>;
}

interface Waiting<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
  /** When it got into its line. */
  since?: number;
}

interface Line<Key, Value> {
  requests: Waiting<Key, Value>[];
  isBusy: boolean;
}

/** The line of requests that are not known to need what is locked. */
const MAIN = Symbol();

/**
 * Lets concurrent requests share statements or transactions: while one runs, the requests that arrive stand in line and
 * go together in the next one. There is no timer, so a request that comes alone does not wait.
 *
 * What a transaction finds locked goes to the line of that lock, in which one transaction at a time waits for it. So
 * nobody else is delayed. A line of its own has what must be alone: after an error, or if nothing is shared.
 */
export class Shared<Key, Value> {
  readonly #lines = new Map<string | symbol, Line<Key, Value>>();

  /** @param isShared whether requests are sent together; otherwise, each is sent alone. */
  constructor(
    private readonly sharing: Sharing<Key, Value>,
    private readonly isShared: boolean,
  ) {}

  /** The request is sent after this call; its error, if any, is that of this key alone. */
  get(key: Key): Promise<Value> {
    return new Promise((resolve, reject) => this.#enqueue({ key, resolve, reject }, this.isShared ? MAIN : Symbol()));
  }

  #enqueue(request: Waiting<Key, Value>, lock: string | symbol): void {
    const line = this.#lines.get(lock) ?? { requests: [], isBusy: false };
    this.#lines.set(lock, line);
    line.requests.push(Object.assign(request, { since: performance.now() }));
    this.#sendNext(line, lock);
  }

  #sendNext(line: Line<Key, Value>, lock: string | symbol): void {
    if (line.isBusy) return;
    if (lock !== MAIN) refuseLate(line);
    if (line.requests.length === 0) return void this.#lines.delete(lock);
    line.isBusy = true;
    let hasEnded = false;
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      line.isBusy = false;
      this.#sendNext(line, lock);
    };
    // Wait one tick, so that requests already received can join.
    setImmediate(() => {
      const waits = lock !== MAIN;
      const slow = waits ? undefined : setTimeout(end, SLOW_MS);
      void this.#send(this.#take(line), waits).then(() => {
        clearTimeout(slow);
        end();
      });
    });
  }

  /** Takes what goes together next, in the order of arrival. */
  #take(line: Line<Key, Value>): Waiting<Key, Value>[] {
    const { sizeOf = () => 1, idOf = () => undefined, most = Infinity } = this.sharing;
    const ids = new Set<string>();
    const taken: Waiting<Key, Value>[] = [];
    let size = 0;
    line.requests = line.requests.filter((request) => {
      const id = idOf(request.key);
      if (id !== undefined && ids.has(id)) return true;
      if (taken.length === most || (taken.length > 0 && size + sizeOf(request.key) > MAX_SIZE)) size = Infinity;
      if (size === Infinity) return true;
      if (id !== undefined) ids.add(id);
      taken.push(request);
      size += sizeOf(request.key);
      return false;
    });
    return taken;
  }

  /** Settles the requests, except those that it sends again. */
  async #send(requests: readonly Waiting<Key, Value>[], waits: boolean): Promise<void> {
    const { turn = (_, send) => send() } = this.sharing;
    try {
      const send = (): Promise<readonly Outcome<Value>[]> => this.#outcomes(requests, waits);
      const outcomes = await (waits ? turn(requests[0]!.key, send) : send());
      requests.forEach((request, at) => {
        const outcome = outcomes[at]!;
        if ('value' in outcome) request.resolve(outcome.value);
        else if ('error' in outcome) request.reject(outcome.error);
        else this.#enqueue(request, outcome.behind);
      });
    } catch (error) {
      // There was no turn.
      for (const { reject } of requests) reject(error);
    }
  }

  async #outcomes(requests: readonly Waiting<Key, Value>[], waits: boolean): Promise<readonly Outcome<Value>[]> {
    try {
      return await this.sharing.send(
        requests.map(({ key }) => key),
        waits,
      );
    } catch (error) {
      // One request's error must not fail the others, unless the database is unavailable, or the lock for which all of
      // them wait.
      const conflict = lockConflict(error);
      const isShared = conflict === undefined ? isUnavailable(error) : waits && conflict === 'lock_wait_timeout';
      const isOfAll = requests.length === 1 || isShared;
      return requests.map(() => (isOfAll ? { error } : { behind: Symbol() }));
    }
  }
}

/** Their callers have no time left for another wait. */
function refuseLate<Key, Value>(line: Line<Key, Value>): void {
  const isLate = ({ since }: Waiting<Key, Value>): boolean => performance.now() - since! > TURN_MS;
  for (const { reject } of line.requests.filter(isLate)) reject(unavailable(undefined));
  line.requests = line.requests.filter((request) => !isLate(request));
}
