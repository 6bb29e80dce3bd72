import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';

/**
 * A request is answered within five seconds, even if the database is slow. The time to receive its body is not
 * included.
 */
const DEADLINE_MS = 4500;

const deadlines = new WeakMap<Request, RequestDeadline>();

/**
 * Responds with 503 to a request that is not answered in time. Its work may still complete. Every operation is safe to
 * retry, which shows the outcome.
 */
export class RequestDeadline {
  #expiresAt = performance.now() + DEADLINE_MS;
  #pausedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly request: Request,
    private readonly response: Response,
  ) {
    this.resume();
    response.once('close', () => this.suspend());
  }

  /** Sends no response until `resume`, because something else will. The time still counts. */
  suspend(): void {
    clearTimeout(this.#timer);
  }

  /** Stops the clock until `resume`, while the client sends its body. */
  pause(): void {
    this.suspend();
    this.#pausedAt = performance.now();
  }

  resume(): void {
    if (this.response.closed) return;
    const now = performance.now();
    if (this.#pausedAt > 0) this.#expiresAt += now - this.#pausedAt;
    this.#pausedAt = 0;
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, this.#expiresAt - now));
  }

  #expire(): void {
    if (!this.response.headersSent)
      sendProblem(this.request, this.response, unavailable(new Error('the request was not answered in time')));
  }
}

/** Starts the deadline of each request. */
export function startDeadlines(): RequestHandler {
  return (request: Request, response: Response, next: NextFunction) => {
    deadlines.set(request, new RequestDeadline(request, response));
    next();
  };
}

export function deadlineOf(request: Request): RequestDeadline | undefined {
  return deadlines.get(request);
}
