import type { ServerResponse } from 'node:http';
import { type Problem, unavailable } from '../common/problem.js';

/** How long a request waits for its turn. The rest of its deadline is left for the work itself. */
const MAX_WAIT_MS = 3000;

/**
 * Refusals are spread over time: refused clients retry immediately, and thousands of retries would leave no time for
 * work.
 */
const REFUSAL_INTERVAL_MS = 10;
const MIN_REFUSALS = 8;
const SHARE_OF_OVERDUE = 1 / 32;

interface Waiter {
  readonly caller: string;
  readonly since: number;
  readonly start: () => void;
  readonly refuse: () => void;
}

/**
 * Limits the number of requests that the process works on at once. The others wait: first in, first out per caller, and
 * callers take turns, so that one caller's load does not delay another. A request that gets no turn in time is refused
 * before any work is done for it. A request whose client disconnects leaves the queue.
 */
export class RequestQueue {
  #running = 0;
  readonly #runningOf = new Map<string, number>();
  /** All requests that may still get a turn, oldest first. */
  readonly #waiting = new Set<Waiter>();
  /** The same requests by caller. The caller whose turn is next comes first. */
  readonly #callers = new Map<string, Set<Waiter>>();
  /** Requests that waited too long. They are refused a few at a time. */
  readonly #overdue = new Set<Waiter>();
  #refusing: NodeJS.Timeout | undefined;

  /**
   * @param maximum the maximum number of requests that run at once.
   * @param isShared whether each caller leaves as many turns free as it has: one takes half of them, two a third each.
   *   So a caller without any finds one free, even if the turns of others take long.
   */
  constructor(
    private readonly maximum: number,
    private readonly isShared = false,
  ) {}

  /** The number of running and of waiting requests. */
  get load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting.size + this.#overdue.size };
  }

  /** Whether a request of the caller would get its turn immediately. */
  isFree(caller: string): boolean {
    return this.#running < this.maximum && this.#waiting.size === 0 && this.mayRun(caller);
  }

  /** Takes a turn even if none is free, for a request on which work was already spent. Call `leave` to end the turn. */
  enterNow(caller: string): void {
    this.#running += 1;
    this.#count(caller, 1);
  }

  /**
   * Waits for a turn. Call `leave` to end the turn.
   *
   * @param caller requests with the same caller share their turns.
   * @param response closes when the client disconnects.
   * @throws Problem unavailable if there is no turn in time.
   */
  enter(caller: string, response: ServerResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void): void => {
        response.off('close', waiter.refuse);
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
      response.once('close', waiter.refuse);
      this.#add(waiter);
      if (response.closed) waiter.refuse();
      else this.#startWaiting();
    });
  }

  /** Ends a turn and starts the next waiting request. */
  leave(caller: string): void {
    this.#running -= 1;
    this.#count(caller, -1);
    this.#startWaiting();
  }

  #count(caller: string, change: 1 | -1): void {
    const running = (this.#runningOf.get(caller) ?? 0) + change;
    if (running > 0) this.#runningOf.set(caller, running);
    else this.#runningOf.delete(caller);
  }

  #startWaiting(): void {
    while (this.#running < this.maximum) {
      const next = this.#next();
      if (next === undefined) return;
      this.enterNow(next.caller);
      next.start();
    }
  }

  /** Whether the caller has fewer turns than it may have. */
  mayRun(caller: string): boolean {
    const running = this.#runningOf.get(caller) ?? 0;
    return !this.isShared || running === 0 || running < this.maximum - this.#running;
  }

  #add(waiter: Waiter): void {
    this.#waiting.add(waiter);
    const ofCaller = this.#callers.get(waiter.caller) ?? new Set();
    this.#callers.set(waiter.caller, ofCaller.add(waiter));
    this.#refusing ??= setInterval(() => this.#refuseOverdue(), REFUSAL_INTERVAL_MS);
  }

  #remove(waiter: Waiter): void {
    if (!this.#waiting.delete(waiter)) return;
    const ofCaller = this.#callers.get(waiter.caller);
    ofCaller?.delete(waiter);
    if (ofCaller?.size === 0) this.#callers.delete(waiter.caller);
  }

  /** Moves the caller that gets the turn to the end, so that callers take turns. */
  #next(): Waiter | undefined {
    for (const [caller, ofCaller] of this.#callers) {
      if (!this.mayRun(caller)) continue;
      this.#callers.delete(caller);
      this.#callers.set(caller, ofCaller);
      for (const waiter of ofCaller) return waiter;
    }
    return undefined;
  }

  #expire(waiter: Waiter): void {
    this.#remove(waiter);
    this.#overdue.add(waiter);
  }

  #refuseOverdue(): void {
    const before = performance.now() - MAX_WAIT_MS;
    for (const waiter of this.#waiting) {
      if (waiter.since > before) break;
      this.#expire(waiter);
    }
    let left = Math.max(MIN_REFUSALS, this.#overdue.size * SHARE_OF_OVERDUE);
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

/** Has no cause, so it is not logged: the metrics count it, and a log line would cost more than the refusal. */
const tooBusy = (): Problem => unavailable(undefined);
