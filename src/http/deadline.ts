import type { NextFunction, Response } from 'express';
import { unavailable } from '../common/problem.js';
import type { AppRequest } from './app-request.js';
import { sendProblem } from './responses.js';

/** A request is answered within five seconds, even if the database is slow. */
const DEADLINE_MS = 4500;

/**
 * Sends a 503 if nothing else was sent in time. The work may still complete: every operation is safe to retry, which
 * shows the outcome. Does not count the time in which the body arrives: see `readJsonBody`.
 */
export function limitTime(request: AppRequest, response: Response, next: NextFunction): void {
  startDeadline(request, response);
  response.once('close', () => clearTimeout(request.deadline));
  next();
}

/** Starts or restarts the deadline of a request. */
export function startDeadline(request: AppRequest, response: Response): void {
  if (response.closed) return;
  clearTimeout(request.deadline);
  request.deadline = setTimeout(() => {
    if (!response.headersSent)
      sendProblem(request, response, unavailable(new Error('the request was not answered in time')));
  }, DEADLINE_MS);
}
