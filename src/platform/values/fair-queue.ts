import { unavailable } from './problem.js';
import { TURN_MS } from './time-limits.js';

const MAX_WAITING = 2000;
const MAX_WAITING_PER_CALLER = 500;

/** Whose work it is: a merchant, or a network. */
interface Caller {
  running: number;
  /** In order of arrival. */
  readonly waiting: Set<() => void>;
}

/** Bounds how much work runs at once. Other work waits for three seconds at most, and its callers take turns. */
export class FairQueue {
  #running = 0;
  #waiting = 0;
  /** Those with work, in the order of their turns. */
  readonly #callers = new Map<string, Caller>();

  /**
   * @param limit how much may run at once.
   * @param mayRun whether a caller with `own` running may start more while `free` more could run. By default, always.
   */
  constructor(
    private readonly limit: number,
    private readonly mayRun: (own: number, free: number) => boolean = () => true,
  ) {}

  get load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting };
  }

  /**
   * Runs work, now or when it is the caller's turn.
   *
   * @throws Problem unavailable if too much waits, or if it could not start in time.
   */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const caller = this.#callers.get(name) ?? { running: 0, waiting: new Set() };
    if (!this.#mayStart(caller)) await this.#wait(name, caller);
    else this.#start(name, caller);
    try {
      return await work();
    } finally {
      caller.running--;
      this.#running--;
      this.#forget(name, caller);
      this.#startWaiting();
    }
  }

  #mayStart(caller: Caller): boolean {
    const free = this.limit - this.#running;
    return free > 0 && this.mayRun(caller.running, free);
  }

  /** The caller's next turn comes after those of all others. */
  #start(name: string, caller: Caller): void {
    caller.running++;
    this.#running++;
    this.#callers.delete(name);
    this.#callers.set(name, caller);
  }

  #wait(name: string, caller: Caller): Promise<void> {
    if (this.#waiting >= MAX_WAITING || caller.waiting.size >= MAX_WAITING_PER_CALLER) throw tooBusy();
    this.#callers.set(name, caller);
    this.#waiting++;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        caller.waiting.delete(start);
        this.#waiting--;
      };
      const start = (): void => {
        leave();
        this.#start(name, caller);
        resolve();
      };
      const timer = setTimeout(() => {
        leave();
        this.#forget(name, caller);
        reject(tooBusy());
      }, TURN_MS);
      caller.waiting.add(start);
    });
  }

  #startWaiting(): void {
    while (this.#waiting > 0) {
      const [start] = this.#nextCaller()?.waiting ?? [];
      if (start === undefined) return;
      start();
    }
  }

  #nextCaller(): Caller | undefined {
    for (const caller of this.#callers.values()) if (caller.waiting.size > 0 && this.#mayStart(caller)) return caller;
    return undefined;
  }

  #forget(name: string, { running, waiting }: Caller): void {
    if (running === 0 && waiting.size === 0) this.#callers.delete(name);
  }
}

/** A caller may start another while it runs fewer than are free: a few long ones do not delay other callers. */
export const leavesHalf = (own: number, free: number): boolean => own < free;

const SHARE_OF_POOL = 0.8;

/** For work that has a database connection of its own for a while. It leaves the others to shorter work. */
export const queueForConnections = (poolSize: number): FairQueue =>
  new FairQueue(Math.max(1, Math.floor(poolSize * SHARE_OF_POOL)), leavesHalf);

/** Has no cause, so it is not logged: the metrics count it, and a log line would cost more than the refusal. */
const tooBusy = (): Error => unavailable(undefined);
