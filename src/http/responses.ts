import type { Response } from 'express';
import type { Problem } from '../common/problem.js';
import type { AppRequest } from './app-request.js';

/**
 * Sends a problem. If the headers have been sent already, all that is left is to close the connection.
 */
export function sendProblem(request: AppRequest, response: Response, problem: Problem): void {
  if (response.headersSent) return void response.destroy();
  response.locals.problemCode = problem.code;
  response.status(problem.status).set(problem.headers).type('application/problem+json');
  response.end(JSON.stringify(problem.toBody(request.path, request.id)));
}

/**
 * Sets the headers of a 201, unless the deadline has already answered.
 *
 * @param path of the created resource.
 * @param replayed whether an earlier request created it.
 */
export function markCreated(response: Response, path: string, replayed: boolean): void {
  if (response.headersSent) return;
  response.setHeader('Location', path);
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}
