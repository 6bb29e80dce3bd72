import type { NextFunction, Request, Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';

const DEADLINE_MS = 4500;

/** Answers 503 if nothing else has answered in time. The work may still complete; every operation is safe to retry. */
export function limitTime(request: Request, response: Response, next: NextFunction): void {
  const timer = setTimeout(() => {
    if (!response.headersSent)
      sendProblem(request, response, unavailable(new Error('the request was not answered in time')));
  }, DEADLINE_MS);
  response.once('close', () => clearTimeout(timer));
  next();
}
