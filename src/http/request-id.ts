import { randomUUID } from 'node:crypto';
import type { NextFunction, Response } from 'express';
import type { AppRequest } from './app-request.js';

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Gives a request its ID: the one that the caller sent if it is well formed, otherwise a new UUID. Must be the first
 * middleware.
 */
export function assignRequestId(request: AppRequest, response: Response, next: NextFunction): void {
  const offered = request.headers['x-request-id'];
  request.id = typeof offered === 'string' && ACCEPTED.test(offered) ? offered : randomUUID();
  response.setHeader('x-request-id', request.id);
  next();
}
