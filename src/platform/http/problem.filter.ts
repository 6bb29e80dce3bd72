import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import { type Response } from 'express';
import { QueryFailedError } from 'typeorm';
import { isUnavailable } from '../database/errors.js';
import { maskDocuments } from '../values/document.js';
import { Problem, unavailable } from '../values/problem.js';
import { type AppRequest, sendProblem } from './app-request.js';

/** Turns every error into a problem (RFC 9457). The details of a 500 are only logged. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<AppRequest>();
    const response = host.switchToHttp().getResponse<Response>();
    const problem = reportedProblem(request, error);
    // The deadline may have answered already.
    if (!response.writableEnded) sendProblem(request, response, problem);
  }
}

const log = new Logger('Problem');

/** Returns the problem for an error of a request, and logs what the caller cannot know or fix. */
export function reportedProblem({ id }: AppRequest, error: unknown): Problem {
  const problem = problemOf(error);
  if (problem.code === 'internal_error') log.error({ request_id: id, err: loggable(error) }, 'internal_error');
  // A refusal by a full queue has no cause: the metrics count it, and a log line would cost more than the refusal.
  if (problem.code === 'unavailable' && problem.cause !== undefined)
    log.warn({ request_id: id, err: loggable(problem.cause) }, 'unavailable');
  return problem;
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isUnavailable(error)) return unavailable(error);
  // The router cannot decode the path. Every other problem is thrown as a `Problem`, also by guards.
  if (error instanceof HttpException && error.getStatus() === 400)
    return new Problem('route_not_found', { detail: 'the path must be percent-encoded UTF-8', cause: error });
  return new Problem('internal_error', { cause: error });
}

/** Without the parameters of a failed query, which contain documents and secrets. */
function loggable(error: unknown): unknown {
  if (!(error instanceof QueryFailedError)) return error;
  const { name, message, stack } = error;
  const { code } = error.driverError as { code?: string };
  // The database's messages contain values, such as the one that violates a unique key.
  return { type: name, message: maskDocuments(message), stack: maskDocuments(stack ?? ''), code };
}
