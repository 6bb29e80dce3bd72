import type { Request, Response } from 'express';
import { deadlineOf } from './request-deadline.js';
import type { RequestQueue } from './request-queue.js';

const turns = new WeakMap<Request, Turn>();

/** A request's turn in the queue, from the guard to the end of the handler. */
export class Turn {
  #isRunning = true;

  private constructor(
    private queue: RequestQueue,
    private caller: string,
    private readonly own: RequestQueue,
  ) {}

  /**
   * Waits for the request's turn. Meanwhile the queue, not the deadline, refuses the request.
   *
   * @param queues the queue for now, and the one once the merchant is known.
   * @param caller requests with the same caller share their turns.
   * @throws Problem unavailable if there is no turn in time.
   */
  static async start(
    [queue, own]: [RequestQueue, RequestQueue],
    caller: string,
    request: Request,
    response: Response,
  ): Promise<void> {
    if (queue.isFree(caller)) queue.enterNow(caller);
    else {
      deadlineOf(request)?.suspend();
      await queue.enter(caller, response);
      deadlineOf(request)?.resume();
    }
    turns.set(request, new Turn(queue, caller, own));
  }

  static of(request: Request): Turn | undefined {
    return turns.get(request);
  }

  /**
   * Waits for a turn of the merchant, if it was not known before.
   *
   * @throws Problem unavailable if there is no turn in time.
   */
  async belongTo(merchantId: string, response: Response): Promise<void> {
    if (this.queue === this.own) return;
    this.leave();
    this.queue = this.own;
    this.caller = merchantId;
    await this.queue.enter(merchantId, response);
    this.#isRunning = true;
  }

  /** Ends the turn, or interrupts it while the request waits for its client. */
  leave(): void {
    if (this.#isRunning) this.queue.leave(this.caller);
    this.#isRunning = false;
  }

  /**
   * Takes the turn again: immediately, because work was already spent on it, unless its caller has all of its turns.
   *
   * @throws Problem unavailable if none ends in time.
   */
  async resume(response: Response): Promise<void> {
    if (this.#isRunning) return;
    if (this.queue.mayRun(this.caller)) this.queue.enterNow(this.caller);
    else await this.queue.enter(this.caller, response);
    this.#isRunning = true;
  }
}
