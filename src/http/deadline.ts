import type { NextFunction, Response } from 'express';
import { Problem, unavailable } from '../common/problem.js';
import type { AppRequest } from './app-request.js';
import { sendProblem } from './responses.js';

/** How long a request takes at most, even if the database is slow; if it has a body, before and after its arrival. */
const ANSWER_MS = 4500;
/** The edge lets a client take this long, too. */
const BODY_MS = 10_000;

/** Limits the time of each request until it is answered. */
export function limitTime(request: AppRequest, response: Response, next: NextFunction): void {
  startDeadline(request, response);
  response.once('close', () => clearTimeout(request.deadline));
  next();
}

/**
 * Sends a 503 if nothing else is sent in time. The work may still complete: every operation is safe to retry, which
 * shows the outcome.
 */
export function startDeadline(request: AppRequest, response: Response): void {
  answerAfter(ANSWER_MS, request, response, () => unavailable(undefined));
}

/** Sends a 408 if the body does not arrive in time. Its arrival does not count as the service's time. */
export function startBodyDeadline(request: AppRequest, response: Response): void {
  answerAfter(BODY_MS, request, response, () => new Problem('request_timeout', { headers: { connection: 'close' } }));
}

function answerAfter(milliseconds: number, request: AppRequest, response: Response, problem: () => Problem): void {
  if (response.closed) return;
  clearTimeout(request.deadline);
  request.deadline = setTimeout(() => {
    if (!response.headersSent) sendProblem(request, response, problem());
  }, milliseconds);
}
