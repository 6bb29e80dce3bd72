import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/;
const ids = new WeakMap<object, string>();

/** Sets `x-request-id` in the response. Must be the first middleware. */
export function assignRequestId(request: Request, response: Response, next: NextFunction): void {
  response.setHeader('x-request-id', requestIdOf(request));
  next();
}

/** Returns the ID of a request: the one that the caller sent if it is well formed, otherwise a new UUID. */
export function requestIdOf(request: { headers: Record<string, string | string[] | undefined> }): string {
  let id = ids.get(request);
  if (id === undefined) {
    const offered = request.headers['x-request-id'];
    id = typeof offered === 'string' && ACCEPTED.test(offered) ? offered : randomUUID();
    ids.set(request, id);
  }
  return id;
}
