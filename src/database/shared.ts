import { Problem } from '../common/problem.js';
import { isUnavailable, lockConflict } from './errors.js';

/** After this time later requests no longer wait for what runs, which may be waiting for a lock. */
const SLOW_MS = 20;

/** The maximum size of what is sent together: far below the server's `max_allowed_packet`, also for large rows. */
const MAX_SIZE = 200;

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

/** Another request that is running has claimed what this one needs. */
export const AGAIN = { again: () => Promise.resolve() };

/** A request as its sender sees it. */
export interface SharedRequest<Key> {
  readonly key: Key;
  /**
   * Claims what only one of the requests that run may have.
   *
   * @returns false if another one has it: then the outcome must be `again`.
   */
  claim(lock: string): boolean;
}

/** How requests are sent. */
export interface Sharing<Key, Value> {
  /**
   * Executes one or more requests, and returns the outcome of each.
   *
   * @param isAlone whether it is one request, which waits for locks; several leave out what is locked.
   */
  send: (requests: readonly SharedRequest<Key>[], isAlone: boolean) => Promise<readonly Outcome<Value>[]>;
  /** How much of the maximum size a request takes; by default, 1. */
  sizeOf?: (key: Key) => number;
  /** What only one of the requests that run may have. */
  lockOf?: (key: Key) => string;
  /** How many times several requests are sent at the same time; by default, once. */
  atOnce?: number;
  /** Bounds how many requests are sent alone. */
  alone?: <T>(key: Key, send: () => Promise<T>) => Promise<T>;
}

class Waiting<Key, Value> implements SharedRequest<Key> {
  readonly since = performance.now();
  isAlone = false;
  readonly #locks = new Set<string>();

  constructor(
    readonly key: Key,
    private readonly held: Map<string, unknown>,
    readonly resolve: (value: Value) => void,
    readonly reject: (error: unknown) => void,
  ) {}

  needs(lock: string): void {
    this.#locks.add(lock);
  }

  claim(lock: string): boolean {
    this.#locks.add(lock);
    return this.claimAll();
  }

  /** Claims what the request is known to need. */
  claimAll(): boolean {
    const isFree = [...this.#locks].every((lock) => (this.held.get(lock) ?? this) === this);
    if (isFree) for (const lock of this.#locks) this.held.set(lock, this);
    return isFree || this.isAlone;
  }

  release(): void {
    for (const lock of this.#locks) if (this.held.get(lock) === this) this.held.delete(lock);
  }
}

/**
 * Lets concurrent requests share statements or transactions: while one runs, the requests that arrive wait and go
 * together in the next one. There is no timer, so a request that comes alone does not wait.
 */
export class Shared<Key, Value> {
  #waiting: Waiting<Key, Value>[] = [];
  #running = 0;
  /** What running requests have claimed. */
  readonly #held = new Map<string, unknown>();

  /** @param isShared whether requests are sent together; otherwise, each is sent alone. */
  constructor(
    private readonly sharing: Sharing<Key, Value>,
    private readonly isShared: boolean,
  ) {}

  /** The request is sent after this call; its error, if any, is that of this key alone. */
  get(key: Key): Promise<Value> {
    return new Promise((resolve, reject) => {
      const request = new Waiting<Key, Value>(key, this.#held, resolve, reject);
      const lock = this.sharing.lockOf?.(key);
      if (lock !== undefined) request.needs(lock);
      this.#enqueue(request);
    });
  }

  #enqueue(request: Waiting<Key, Value>): void {
    if (!this.isShared) return void this.#sendAlone(request);
    request.isAlone = false;
    // In the order of arrival, also if it comes again.
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
      void (requests.length === 1 ? this.#sendAlone(first) : this.#send(requests)).then(() => {
        clearTimeout(slow);
        end();
      });
    });
  }

  /** Takes what goes together next. What needs something that a running request has claimed waits, but not for long. */
  #take(): Waiting<Key, Value>[] {
    const { sizeOf = () => 1 } = this.sharing;
    const taken: Waiting<Key, Value>[] = [];
    let size = 0;
    this.#waiting = this.#waiting.filter((request) => {
      const own = sizeOf(request.key);
      if (taken.length > 0 && size + own > MAX_SIZE) size = Infinity;
      else if (request.claimAll()) {
        taken.push(request);
        size += own;
        return false;
      } else if (performance.now() - request.since > PATIENCE_MS) {
        void this.#sendAlone(request);
        return false;
      }
      return true;
    });
    return taken;
  }

  /** Settles the requests, except those that it sends again. */
  async #send(requests: readonly Waiting<Key, Value>[], isAlone = false): Promise<void> {
    let outcomes: readonly Outcome<Value>[];
    try {
      outcomes = await this.sharing.send(requests, isAlone);
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
    request.release();
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
