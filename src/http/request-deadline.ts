import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';

/** A request is answered within five seconds, whatever the database does; the time in which its body arrives is the client's. */
const DEADLINE_MS = 4500;

/** From the head of a request to the last byte of its answer. A client that reads more slowly is disconnected. */
const LONGEST_EXCHANGE_MS = 30_000;

const deadlines = new WeakMap<Request, RequestDeadline>();

/**
 * Answers 503 for a request that has had no answer in time. Its work may still be done, or have been done: every
 * operation can be repeated to find out.
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
    const exchange = setTimeout(() => request.socket.destroy(), LONGEST_EXCHANGE_MS);
    response.once('close', () => {
      this.suspend();
      clearTimeout(exchange);
    });
  }

  /** Leaves it to the caller to answer until `resume`. The time counts. */
  suspend(): void {
    clearTimeout(this.#timer);
  }

  /** Stops the time until `resume`: the client is sending its body. */
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
      sendProblem(this.request, this.response, unavailable(new Error('no answer in time')));
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
