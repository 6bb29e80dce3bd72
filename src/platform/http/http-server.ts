import { randomUUID } from 'node:crypto';
import { type Server } from 'node:http';
import { type Socket } from 'node:net';
import express from 'express';
import { ExpressAdapter } from '@nestjs/platform-express';
import { Problem } from '../values/problem.js';

/** Not below the limits of the edge (`ops/edge.cfg`), which are the ones that clients meet. */
const LIMITS = { headersTimeout: 10_000, requestTimeout: 20_000, maxConnections: 10_000 };

/** What Node reports about a request that it cannot parse, or that did not arrive in time. */
const CODES: Record<string, 'headers_too_large' | 'payload_too_large' | 'request_timeout'> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** `/orders/`, `/Orders` and `/orders` are different paths. */
export function httpAdapter(): ExpressAdapter {
  // Express reads these options when the adapter's constructor adds the first middleware.
  return new ExpressAdapter(express().enable('case sensitive routing').enable('strict routing'));
}

/** @param refused is called with each problem that is sent to a client whose request is not valid HTTP. */
export function limitConnections(
  server: Server,
  keepAliveSeconds: number,
  refused: (problem: Problem, requestId: string) => void,
): void {
  Object.assign(server, LIMITS, { keepAliveTimeout: keepAliveSeconds * 1000 });
  // Node would answer 417 without a problem. RFC 9110, section 10.1.1, allows to ignore it.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    // The rest of an earlier response may still be on its way.
    if (!socket.writable || socket.bytesWritten > 0 || code === 'ECONNRESET') return void socket.destroy();
    const problem = new Problem(CODES[code] ?? 'malformed_request');
    const requestId = randomUUID();
    refused(problem, requestId);
    socket.end(rawResponse(problem, requestId), () => socket.destroy());
  });
}

/** A request that Node cannot parse has no `ServerResponse`, only a socket. */
function rawResponse(problem: Problem, requestId: string): string {
  const body = JSON.stringify(problem.toBody('/', requestId));
  return [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    'content-type: application/problem+json',
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
