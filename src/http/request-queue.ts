import { type Problem, unavailable } from '../common/problem.js';

/** How long a request waits for its turn. The rest of its deadline is for the work itself. */
const LONGEST_WAIT_MS = 3000;

/** Requests that wait, over all callers: clients that pipeline can send more than there are connections. */
const MOST_WAITING = 10_000;

/** Refusals are spread: a client that is refused asks again at once, and thousands of them would leave no time for work. */
const REFUSE_EVERY_MS = 10;
const FEWEST_REFUSALS = 8;
const SHARE_OF_OVERDUE = 1 / 32;

interface Waiter {
  readonly caller: string;
  readonly since: number;
  readonly start: () => void;
  readonly refuse: () => void;
}

/**
 * Bounds the requests that the process works on at once. The others wait, each behind the earlier ones of its own
 * caller, and callers take turns, so that the load of one does not delay another. A request that gets no turn in time is
 * refused before any work is done for it, and one whose client is gone leaves the queue.
 */
export class RequestQueue {
  #running = 0;
  /** All requests that may still get a turn, the oldest first. */
  readonly #waiting = new Set<Waiter>();
  /** The same by caller; the caller whose turn is next comes first. */
  readonly #callers = new Map<string, Set<Waiter>>();
  /** Requests that waited too long, and are told so a few at a time. */
  readonly #overdue = new Set<Waiter>();
  #refusing: NodeJS.Timeout | undefined;

  /** @param maximum number of requests that run at once. */
  constructor(private readonly maximum: number) {}

  /** The number of requests that run and that wait. */
  get load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting.size + this.#overdue.size };
  }

  /** Whether a request would get its turn at once. */
  get isFree(): boolean {
    return this.#running < this.maximum && this.#waiting.size === 0;
  }

  /** Takes a turn whether or not there is one: for a request on which work has been spent. It must be given back by `leave`. */
  enterNow(): void {
    this.#running += 1;
  }

  /**
   * Waits for a turn, which must be given back by `leave`.
   *
   * @param caller requests with the same name share their turns.
   * @param signal aborted when the client is gone.
   * @throws Problem unavailable when there is no turn in time.
   */
  enter(caller: string, signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= MOST_WAITING) this.#giveUpOneOfTheBusiest();
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void): void => {
        signal.removeEventListener('abort', waiter.refuse);
        this.#remove(waiter);
        this.#overdue.delete(waiter);
        outcome();
      };
      const waiter: Waiter = {
        caller,
        since: performance.now(),
        start: () => settle(resolve),
        refuse: () => settle(() => reject(tooBusy())),
      };
      signal.addEventListener('abort', waiter.refuse);
      this.#add(waiter);
      if (signal.aborted) waiter.refuse();
    });
  }

  /** Gives a turn back, to the next request that waits. */
  leave(): void {
    this.#running -= 1;
    while (this.#running < this.maximum) {
      const next = this.#next();
      if (next === undefined) return;
      this.#running += 1;
      next.start();
    }
  }

  #add(waiter: Waiter): void {
    this.#waiting.add(waiter);
    const ofCaller = this.#callers.get(waiter.caller) ?? new Set();
    this.#callers.set(waiter.caller, ofCaller.add(waiter));
    this.#refusing ??= setInterval(() => this.#refuseOverdue(), REFUSE_EVERY_MS);
  }

  #remove(waiter: Waiter): void {
    if (!this.#waiting.delete(waiter)) return;
    const ofCaller = this.#callers.get(waiter.caller);
    ofCaller?.delete(waiter);
    if (ofCaller?.size === 0) this.#callers.delete(waiter.caller);
  }

  /** The caller that gets a turn goes to the end of the line of callers. */
  #next(): Waiter | undefined {
    for (const [caller, ofCaller] of this.#callers) {
      this.#callers.delete(caller);
      this.#callers.set(caller, ofCaller);
      for (const waiter of ofCaller) return waiter;
    }
    return undefined;
  }

  #giveUp(waiter: Waiter): void {
    this.#remove(waiter);
    this.#overdue.add(waiter);
  }

  #giveUpOneOfTheBusiest(): void {
    let busiest = new Set<Waiter>();
    for (const ofCaller of this.#callers.values()) if (ofCaller.size > busiest.size) busiest = ofCaller;
    for (const waiter of busiest) return this.#giveUp(waiter);
  }

  #refuseOverdue(): void {
    const before = performance.now() - LONGEST_WAIT_MS;
    for (const waiter of this.#waiting) {
      if (waiter.since > before) break;
      this.#giveUp(waiter);
    }
    let left = Math.max(FEWEST_REFUSALS, this.#overdue.size * SHARE_OF_OVERDUE);
    for (const waiter of this.#overdue) {
      if (left <= 0) break;
      waiter.refuse();
      left -= 1;
    }
    if (this.#waiting.size + this.#overdue.size > 0) return;
    clearInterval(this.#refusing);
    this.#refusing = undefined;
  }
}

/** Without a cause: a full queue is in the metrics, and a line in the log for each refusal would cost more than the refusal. */
const tooBusy = (): Problem => unavailable(undefined);
