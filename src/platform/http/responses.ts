import { type Response } from 'express';
import { type Problem } from '../values/problem.js';
import { type AppRequest } from './app-request.js';

export function sendProblem(request: AppRequest, response: Response, problem: Problem): void {
  // All that is left is to close the connection.
  if (response.headersSent) return void response.destroy();
  response.locals.problemCode = problem.code;
  response.status(problem.status).set(problem.headers).type('application/problem+json');
  response.end(JSON.stringify(problem.toBody(request.path, request.id)));
}

/** The deadline may already have answered. */
export function markCreated(response: Response, path: string, replayed: boolean): void {
  if (response.headersSent) return;
  response.setHeader('Location', path);
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}
