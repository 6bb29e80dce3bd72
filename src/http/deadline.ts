import type { NextFunction, Response } from 'express';
import { unavailable } from '../common/problem.js';
import type { AppRequest } from './app-request.js';
import { sendProblem } from './responses.js';

/** A request is answered within five seconds, even if the database is slow. */
const DEADLINE_MS = 4500;

/**
 * Sends a 503 if nothing else was sent in time. The work may still complete: every operation is safe to retry, which
 * shows the outcome. Each piece of the body that arrives restarts the deadline.
 */
export function startDeadline(request: AppRequest, response: Response, next: NextFunction): void {
  request.deadline = setTimeout(() => {
    if (!response.headersSent)
      sendProblem(request, response, unavailable(new Error('the request was not answered in time')));
  }, DEADLINE_MS);
  response.once('close', () => clearTimeout(request.deadline));
  next();
}
