import { Injectable } from '@nestjs/common';
import { Subject } from 'rxjs';
import { type EntityManager } from 'typeorm';
import { Config } from '../config/config.js';
import { type Recorder } from '../values/domain-event.js';
import { type FairQueue, queueForConnections } from '../values/fair-queue.js';
import { Problem } from '../values/problem.js';
import { isUnavailable, lockConflict } from './errors.js';
import { UnitOfWork, type UseCase } from './unit-of-work.js';

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
  createStatement<Key, Value>(
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
   * @param sizeOf how much of a transaction a use case takes.
   */
  createTransaction<Key extends { merchantId: string }, Value>(
    kind: string,
    lockOf: (key: Key) => string | undefined,
    perform: (useCases: SharedUseCases<Key>) => Promise<Outcome<Value>[]>,
    sizeOf: (key: Key) => number = () => 1,
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
    return new Shared({ send, lockOf, sizeOf, atOnce: TRANSACTIONS_AT_ONCE, alone }, this.config.BATCH);
  }

  /** Runs a use case that waits for locks in a transaction of its own. Enough connections are left for others. */
  transaction<T>(merchantId: string, useCase: UseCase<T>): Promise<T> {
    return this.#alone.run(merchantId, () => this.unitOfWork.transaction(useCase));
  }
}

/** After this time later requests no longer wait for what runs, which may be waiting for a lock. */
const SLOW_MS = 20;

/** The maximum size of what is sent together: far below the server's `max_allowed_packet`, also for large rows. */
const MAX_SIZE = 200;

/**
 * The maximum number of requests that are sent together and need the same lock. They have one instant, and `reconcile`
 * compares an event of a wallet with the last 100 entries.
 */
const MAX_OF_LOCK = 20;

/** After this time a request no longer waits for what another one in this process has alone. */
const PATIENCE_MS = 1000;

/** What came of a request that was sent with others. */
export type Outcome<Value> =
  | { value: Value }
  /** It alone fails. */
  | { error: unknown }
  /** Another transaction has locked what it needs: it is sent alone, and waits for the lock. */
  | 'locked'
  /** It is sent again, with others, after this. */
  | { again: () => Promise<unknown> };

/** Returns what came of a request. If it is refused with a problem, it must not have changed anything. */
export function outcomeOf<Value>(perform: () => Value): { value: Value } | { error: Problem } {
  try {
    return { value: perform() };
  } catch (error) {
    if (error instanceof Problem) return { error };
    throw error;
  }
}

export const isDone = <Value>(outcome: Outcome<Value>): outcome is { value: Value } =>
  outcome !== 'locked' && 'value' in outcome;

/** What runs has claimed what this request needs. */
export const AGAIN = { again: () => Promise.resolve() };

/** A request as its sender sees it. */
export interface SharedRequest<Key> {
  readonly key: Key;
  /**
   * Claims a lock that what is sent at other times must not need.
   *
   * @returns false if something that runs has claimed it: then the outcome must be `AGAIN`.
   */
  claim(lock: string): boolean;
}

/** How requests are sent. */
interface Sharing<Key, Value> {
  /**
   * Executes one or more requests, and returns the outcome of each.
   *
   * @param isAlone whether it is one request, which waits for locks; several leave out what is locked.
   */
  send: (requests: readonly SharedRequest<Key>[], isAlone: boolean) => Promise<readonly Outcome<Value>[]>;
  /** How much of the maximum size a request takes; by default, 1. */
  sizeOf?: (key: Key) => number;
  /** A lock that only one of the requests that run may need. */
  lockOf?: (key: Key) => string | undefined;
  /** How many times several requests are sent at the same time; by default, once. */
  atOnce?: number;
  /** Bounds how many requests are sent alone. */
  alone?: <T>(key: Key, send: () => Promise<T>) => Promise<T>;
}

interface Waiting<Key, Value> {
  readonly key: Key;
  readonly since: number;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
  /** What it is known to need. */
  readonly locks: Set<string>;
  /** The same for requests that are sent together. */
  batch?: symbol;
  isAlone: boolean;
}

/**
 * Lets concurrent requests share statements or transactions: while one runs, the requests that arrive wait and go
 * together in the next one. There is no timer, so a request that comes alone does not wait.
 *
 * A request alone: `get`, a tick, `#sendAlone`, a transaction of its own that waits for locks, its value. Two together:
 * both wait for the tick, `#take` claims what each is known to need, and one transaction performs both. It skips what
 * others have locked: such a request is sent again, alone. A request that finds that it needs a lock that another
 * transaction of this process has claimed is sent `AGAIN`, with those that come next.
 */
export class Shared<Key, Value> {
  #waiting: Waiting<Key, Value>[] = [];
  #running = 0;
  /** The locks that running requests have claimed, and which of them. */
  readonly #claims = new Map<string, Set<Waiting<Key, Value>>>();

  /** @param isShared whether requests are sent together; otherwise, each is sent alone. */
  constructor(
    private readonly sharing: Sharing<Key, Value>,
    private readonly isShared: boolean,
  ) {}

  /** The request is sent after this call; its error, if any, is that of this key alone. */
  get(key: Key): Promise<Value> {
    return new Promise((resolve, reject) => {
      const lock = this.sharing.lockOf?.(key);
      const locks = new Set(lock === undefined ? [] : [lock]);
      this.#enqueue({ key, since: performance.now(), resolve, reject, locks, isAlone: false });
    });
  }

  #enqueue(request: Waiting<Key, Value>): void {
    if (!this.isShared) return void this.#sendAlone(request);
    request.isAlone = false;
    // In the order of arrival, also if it is sent a second time.
    const at = this.#waiting.findLastIndex(({ since }) => since <= request.since) + 1;
    this.#waiting.splice(at, 0, request);
    this.#sendNext();
  }

  #sendNext(): void {
    if (this.#running >= (this.sharing.atOnce ?? 1) || this.#waiting.length === 0) return;
    this.#running++;
    let hasEnded = false;
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      this.#running--;
      this.#sendNext();
    };
    // Wait one tick, so that requests already received can join.
    setImmediate(() => {
      const requests = this.#take();
      const [first] = requests;
      if (first === undefined) return void this.#running--;
      const slow = setTimeout(end, SLOW_MS);
      // Others that run or wait may need the same lock, and it must not overtake those that wait.
      const isAlone = requests.length === 1 && this.#waiting.length === 0 && this.#claims.size === first.locks.size;
      void (isAlone ? this.#sendAlone(first) : this.#send(requests)).then(() => {
        clearTimeout(slow);
        end();
      });
    });
  }

  /** Takes what goes together next. What needs something that a running request has claimed waits, but not for long. */
  #take(): Waiting<Key, Value>[] {
    const { sizeOf = () => 1, lockOf = () => undefined } = this.sharing;
    const batch = Symbol();
    const taken: Waiting<Key, Value>[] = [];
    const own = new Set<string>();
    let size = 0;
    this.#waiting = this.#waiting.filter((request) => {
      const lock = lockOf(request.key);
      if (taken.length > 0 && size + sizeOf(request.key) > MAX_SIZE) size = Infinity;
      else if (
        (lock === undefined || !own.has(lock)) &&
        this.#claim(Object.assign(request, { batch }), request.locks)
      ) {
        if (lock !== undefined) own.add(lock);
        taken.push(request);
        size += sizeOf(request.key);
        return false;
      } else if (performance.now() - request.since > PATIENCE_MS) {
        void this.#sendAlone(request);
        return false;
      }
      return true;
    });
    return taken;
  }

  /** Claims a lock of which only the sender knows, unless requests that came earlier wait for it. */
  #claimNew(request: Waiting<Key, Value>, lock: string): boolean {
    if (this.#claims.get(lock)?.has(request)) return true;
    const isWaitedFor = !request.isAlone && this.#waiting.some(({ locks }) => locks.has(lock));
    if (!isWaitedFor) return this.#claim(request, [lock]);
    request.locks.add(lock);
    return false;
  }

  /** Claims locks for a request, unless requests that were sent at another time have them. */
  #claim(request: Waiting<Key, Value>, locks: Iterable<string>): boolean {
    const all = Array.from(locks, (lock) => [lock, this.#claims.get(lock) ?? new Set()] as const);
    for (const [lock] of all) request.locks.add(lock);
    const isFree = all.every(
      ([, others]) => others.size < MAX_OF_LOCK && [...others].every(({ batch }) => batch === request.batch),
    );
    if (!isFree && !request.isAlone) return false;
    for (const [lock, others] of all) this.#claims.set(lock, others.add(request));
    return true;
  }

  #release(request: Waiting<Key, Value>): void {
    for (const lock of request.locks) {
      const claims = this.#claims.get(lock);
      if (claims?.delete(request) && claims.size === 0) this.#claims.delete(lock);
    }
  }

  /** Settles the requests, except those that it sends again. */
  async #send(requests: readonly Waiting<Key, Value>[], isAlone = false): Promise<void> {
    let outcomes: readonly Outcome<Value>[];
    try {
      const sent = requests.map((request) => ({
        key: request.key,
        claim: (lock: string) => this.#claimNew(request, lock),
      }));
      outcomes = await this.sharing.send(sent, isAlone);
    } catch (error) {
      // One request's error must not fail the others. If the database is unavailable, it is so for all of them.
      const isOfAll = isAlone || (isUnavailable(error) && lockConflict(error) === undefined);
      outcomes = requests.map(() => (isOfAll ? { error } : 'locked'));
    }
    requests.forEach((request, at) => this.#settle(request, outcomes[at]!));
    this.#sendNext();
  }

  #settle(request: Waiting<Key, Value>, outcome: Outcome<Value>): void {
    if (outcome === 'locked') return void this.#sendAlone(request);
    this.#release(request);
    if ('value' in outcome) request.resolve(outcome.value);
    else if ('error' in outcome) request.reject(outcome.error);
    else outcome.again().then(() => this.#enqueue(request), request.reject);
  }

  async #sendAlone(request: Waiting<Key, Value>): Promise<void> {
    const { alone = (_, send) => send() } = this.sharing;
    request.isAlone = true;
    try {
      await alone(request.key, () => this.#send([request], true));
    } catch (error) {
      this.#settle(request, { error });
    }
  }
}
