import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { QueryFailedError } from 'typeorm';
import { isUnavailable } from '../database/errors.js';
import { allowedMethods } from './allowed-methods.js';
import { maskDocument } from '../common/cpf.js';
import { Problem, type ProblemCode, unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';
import { requestIdOf } from './request-id.js';
import { Turn } from './turn.js';

/** What the framework throws of its own, by status. */
const OF_FRAMEWORK: Record<number, ProblemCode> = {
  400: 'not_found', // The router's only 400 is a path that does not decode: there is nothing there.
  404: 'not_found',
  408: 'request_timeout',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  431: 'headers_too_large',
  503: 'unavailable',
};

/**
 * The one place where an error becomes HTTP: every failure of any origin leaves as
 * `application/problem+json` (RFC 9457). A 500 tells the caller nothing and the log everything.
 */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  readonly #log = new Logger('Problem');

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    Turn.of(request)?.leave();
    // The deadline has answered in its place.
    if (response.writableEnded) return;
    const problem = this.#problemOf(error, request);
    if (problem.code === 'internal_error')
      this.#log.error({ request_id: requestIdOf(request), err: loggable(error) }, 'internal_error');
    // A full queue is in the metrics; a line for each refusal would cost more than the refusal.
    if (problem.code === 'unavailable' && problem.cause !== undefined)
      this.#log.warn({ request_id: requestIdOf(request), err: loggable(problem.cause) }, 'unavailable');
    sendProblem(request, response, problem);
  }

  #problemOf(error: unknown, request: Request): Problem {
    if (error instanceof Problem) return error;
    if (isUnavailable(error)) return unavailable(error);
    if (error instanceof HttpException) {
      const code = OF_FRAMEWORK[error.getStatus()] ?? 'internal_error';
      const allow = code === 'not_found' ? allowedMethods(request) : [];
      if (allow.length > 0) {
        return new Problem('method_not_allowed', {
          detail: `allowed: ${allow.join(', ')}`,
          headers: { allow: allow.join(', ') },
        });
      }
      return code === 'unavailable' ? unavailable(error) : new Problem(code, { cause: error });
    }
    return new Problem('internal_error', { cause: error });
  }
}

/** An error as the log may hold it: without the values of the query that failed, which are documents and secrets. */
function loggable(error: unknown): unknown {
  if (!(error instanceof QueryFailedError)) return error;
  const { name, message, stack } = error;
  const { code } = error.driverError as { code?: string };
  return { type: name, message: masked(message), stack: masked(stack ?? ''), code };
}

/** The database repeats values in its messages, such as the one that a unique key refused. */
function masked(text: string): string {
  return text.replace(/\b\d{11}\b/g, maskDocument);
}
