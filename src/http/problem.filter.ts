import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { QueryFailedError } from 'typeorm';
import { isUnavailable } from '../database/errors.js';
import { maskDocument } from '../common/cpf.js';
import { Problem, type ProblemCode, unavailable } from '../common/problem.js';
import type { AppRequest } from './app-request.js';
import { sendProblem } from './responses.js';

/** The codes of the framework's own exceptions, by status. */
const OF_FRAMEWORK: Record<number, ProblemCode> = {
  400: 'not_found', // The router's only 400 is a path that cannot be decoded, so it does not exist.
  404: 'not_found',
  408: 'request_timeout',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  431: 'headers_too_large',
  503: 'unavailable',
};

/**
 * Turns every error into an `application/problem+json` response (RFC 9457). The details of a 500 are only logged.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #log = new Logger('Problem');

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<AppRequest>();
    const response = host.switchToHttp().getResponse<Response>();
    // The deadline may already have sent a response.
    if (response.writableEnded) return;
    const problem = problemOf(error);
    if (problem.code === 'internal_error')
      this.#log.error({ request_id: request.id, err: loggable(error) }, 'internal_error');
    // A refusal by a full queue has no cause: the metrics count it, and a log line would cost more than the refusal.
    if (problem.code === 'unavailable' && problem.cause !== undefined)
      this.#log.warn({ request_id: request.id, err: loggable(problem.cause) }, 'unavailable');
    sendProblem(request, response, problem);
  }
}

function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isUnavailable(error)) return unavailable(error);
  if (!(error instanceof HttpException)) return new Problem('internal_error', { cause: error });
  const code = OF_FRAMEWORK[error.getStatus()] ?? 'internal_error';
  return code === 'unavailable' ? unavailable(error) : new Problem(code, { cause: error });
}

/** Returns an error for the log, without the parameters of a failed query, which contain documents and secrets. */
function loggable(error: unknown): unknown {
  if (!(error instanceof QueryFailedError)) return error;
  const { name, message, stack } = error;
  const { code } = error.driverError as { code?: string };
  return { type: name, message: masked(message), stack: masked(stack ?? ''), code };
}

/** The database's messages contain values, such as the one that violates a unique key. */
function masked(text: string): string {
  return text.replace(/\b\d{11}\b/g, maskDocument);
}
