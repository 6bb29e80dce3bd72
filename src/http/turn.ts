import type { Request, Response } from 'express';
import { deadlineOf } from './request-deadline.js';
import type { RequestQueue } from './request-queue.js';
import { signalOf } from './request-signal.js';

const turns = new WeakMap<Request, Turn>();

/** A request's turn in the queue, from its guard to the end of its handler. */
export class Turn {
  #isRunning = true;

  private constructor(private readonly queue: RequestQueue) {}

  /**
   * Waits for the request's turn. The deadline does not answer meanwhile: the queue does.
   *
   * @param caller requests with the same name share their turns.
   * @throws Problem unavailable when there is no turn in time.
   */
  static async start(queue: RequestQueue, caller: string, request: Request, response: Response): Promise<void> {
    if (queue.isFree) queue.enterNow();
    else {
      deadlineOf(request)?.suspend();
      await queue.enter(caller, signalOf(response));
      deadlineOf(request)?.resume();
    }
    turns.set(request, new Turn(queue));
  }

  static of(request: Request): Turn | undefined {
    return turns.get(request);
  }

  /** Gives the turn to another request: for as long as this one waits for its client, or for good. */
  leave(): void {
    if (this.#isRunning) this.queue.leave();
    this.#isRunning = false;
  }

  /** Takes the turn again. What was spent on the request is not wasted by another wait. */
  resume(): void {
    if (!this.#isRunning) this.queue.enterNow();
    this.#isRunning = true;
  }
}
