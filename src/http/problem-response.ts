import type { Request, Response } from 'express';
import type { Problem } from '../common/problem.js';
import { requestIdOf } from './request-id.js';

/**
 * Sends a problem as the response. If the headers have been sent already, all that is left is to close the connection.
 */
export function sendProblem(request: Request, response: Response, problem: Problem): void {
  if (response.headersSent) return void response.destroy();
  response.locals.problemCode = problem.code;
  response.status(problem.status).set(problem.headers).type('application/problem+json');
  response.end(JSON.stringify(problem.toBody(request.path, requestIdOf(request))));
}
