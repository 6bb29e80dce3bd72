import type { NextFunction, Request, Response } from 'express';
import { Problem } from '../common/problem.js';
import { MAX_FIELDS } from './http-server.js';

/** Characters of a host and port (RFC 3986, section 3.2). The field may be empty. */
const HOST = /^[\w.~!$&'()*+,;=%:[\]-]*$/;

/**
 * Refuses an HTTP/1.1 request without exactly one valid Host (RFC 9112, section 3.2), in order with pipelined requests.
 */
export function requireOneHost(request: Request, response: Response, next: NextFunction): void {
  if (request.rawHeaders.length > 2 * MAX_FIELDS) return next(new Problem('headers_too_large'));
  const hosts = request.headersDistinct.host ?? [];
  if (hosts.length === 0 && request.httpVersion === '1.0') return next();
  if (hosts.length === 1 && HOST.test(hosts[0] ?? '')) return next();
  response.setHeader('connection', 'close');
  next(new Problem('malformed_request', { detail: 'the request must have exactly one valid Host header field' }));
}
