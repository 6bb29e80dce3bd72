import { type Request, type Response } from 'express';
import { type Caller, type Permission } from '../values/caller.js';
import { type Problem } from '../values/problem.js';
import { type Written } from '../values/written.js';

/** A request, with what the service knows about it. */
export interface AppRequest extends Request {
  /** The ID in the `x-request-id` of the response and in the logs. */
  id: string;
  /** The route that handles the request. Its path is the pattern; undefined for a path that has no route. */
  route: { path: string } | undefined;
  /** Answers the request when it fires. */
  deadline: NodeJS.Timeout | undefined;
  /** When it fires, as `performance.now()` counts. */
  answerBy: number;
  /** Set by the guard on routes that need an access token. */
  user?: Omit<Caller, 'permissions'>;
  /** What the caller's API user may do now. The guard sets it with `user`. */
  permissions?: readonly Permission[];
  /** Whether the whole request was there when the guard looked at its token. */
  wasComplete?: boolean;
  /** The JWT behind the access token. The guard sets it; a JWT from the client must never get here. */
  phantomToken?: string;
}

/** RFC 6750, section 2.1. The scheme is not case-sensitive (RFC 9110, section 11.1). */
export function bearerTokenOf(request: Request): string | undefined {
  return /^bearer +(.*)$/i.exec(request.headers.authorization ?? '')?.[1]?.trim();
}

export function sendProblem(request: AppRequest, response: Response, problem: Problem): void {
  // All that is left is to close the connection.
  if (response.headersSent) return void response.destroy();
  response.locals.problemCode = problem.code;
  response.status(problem.status).set(problem.headers).type('application/problem+json');
  response.end(JSON.stringify(problem.toBody(request.path, request.id)));
}

/** Marks the response of a creation. The deadline may already have answered. */
export function markCreated(response: Response, path: string, replayed: boolean): void {
  if (response.headersSent) return;
  response.setHeader('Location', path);
  markReplayed(response, replayed);
}

/** Says that a request changed nothing, because what it asks for was so before. */
export function markReplayed(response: Response, replayed: boolean): void {
  if (replayed && !response.headersSent) response.setHeader('Idempotency-Replayed', 'true');
}

/** Answers a change. @returns what the response is. */
export function answer<Dto>(response: Response, { dto, replayed }: Written<Dto>): Dto {
  markReplayed(response, replayed);
  return dto;
}
