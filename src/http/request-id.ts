import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/;
const ids = new WeakMap<object, string>();

/** Gives each request its id, the caller's own if it is well formed, and says it in the answer. First of all middleware. */
export function assignRequestId(request: Request, response: Response, next: NextFunction): void {
  response.setHeader('x-request-id', requestIdOf(request));
  next();
}

/** The id of a request: the same however often it is asked for. */
export function requestIdOf(request: { headers: Record<string, string | string[] | undefined> }): string {
  let id = ids.get(request);
  if (id === undefined) {
    const offered = request.headers['x-request-id'];
    id = typeof offered === 'string' && ACCEPTED.test(offered) ? offered : randomUUID();
    ids.set(request, id);
  }
  return id;
}
