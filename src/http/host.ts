import type { NextFunction, Request, Response } from 'express';
import { Problem } from '../common/problem.js';

/** Refuses an HTTP/1.1 request without exactly one Host (RFC 9112, section 3.2), in order with pipelined requests. */
export function requireOneHost(request: Request, response: Response, next: NextFunction): void {
  const hosts = request.headersDistinct.host?.length ?? 0;
  if (hosts === 1 || (hosts === 0 && request.httpVersion === '1.0')) return next();
  response.setHeader('connection', 'close');
  next(new Problem('malformed_request', { detail: 'the request must have exactly one Host header field' }));
}
