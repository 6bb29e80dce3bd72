import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { QueryFailedError } from 'typeorm';
import { isUnavailable } from '../database/errors.js';
import type { Caller } from '../common/caller.js';
import { maskDocument } from '../common/cpf.js';
import { Problem, type ProblemCode, unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';
import { requestIdOf } from './request-id.js';

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
    const request = host.switchToHttp().getRequest<Request & { user?: Caller }>();
    const response = host.switchToHttp().getResponse<Response>();
    // The deadline may already have sent a response.
    if (response.writableEnded) return;
    const problem = this.#problemOf(error, request);
    if (problem.code === 'internal_error')
      this.#log.error({ request_id: requestIdOf(request), err: loggable(error) }, 'internal_error');
    // A refusal by a full queue has no cause: the metrics count it, and a log line would cost more than the refusal.
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

interface RouteLayer {
  match(path: string): boolean;
  route?: { methods: Record<string, boolean> };
}

/**
 * Returns the methods that the request's path supports, sorted; none if there is no such path. (RFC 9110, section
 * 15.5.6)
 */
function allowedMethods(request: Request): string[] {
  const { stack } = (request.app as unknown as { router: { stack: RouteLayer[] } }).router;
  const methods = stack
    .filter((layer) => layer.route !== undefined && matches(layer, request.path))
    .flatMap((layer) => Object.keys(layer.route?.methods ?? {}))
    .map((method) => method.toUpperCase());
  if (methods.includes('_ALL')) return [];
  if (methods.includes('GET')) methods.push('HEAD');
  return [...new Set(methods)].sort();
}

/** Matching decodes the path's parameters, which throws for a path such as `/orders/%ff`. */
function matches(layer: RouteLayer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false;
  }
}
