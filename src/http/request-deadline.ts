import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';

/** A database that has stopped answering is a 503 within five seconds. */
const DEADLINE_MS = 4500;

/**
 * Answers 503 for a request that has had no answer in time. What it asked for may still happen, or have
 * happened: every operation can be repeated to find out.
 */
export function answerInTime(): RequestHandler {
  return (request: Request, response: Response, next: NextFunction) => {
    const timer = setTimeout(() => {
      if (!response.headersSent) sendProblem(request, response, unavailable(new Error('no answer in time')));
    }, DEADLINE_MS);
    response.once('close', () => clearTimeout(timer));
    next();
  };
}
