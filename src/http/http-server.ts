import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Express } from 'express';
import { Problem, type ProblemCode } from '../common/problem.js';
import { requestIdOf } from './request-id.js';

/** Slow clients are dropped: Node's own limits let hundreds of them stay for minutes. */
const LIMITS = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 10_000,
};

/** Express on a server with our limits, which answers what is not even HTTP with a problem too. */
export class HttpServer extends ExpressAdapter {
  override initHttpServer(): void {
    const express = this.getInstance<Express>();
    const serve: RequestListener = (request, response) =>
      void (lacksHost(request) ? answerRaw(request.socket, 'no Host') : express(request, response));
    // Node's own answers to these two would be bare: a request without a Host, and an expectation it does not know.
    this.httpServer = createServer({ ...LIMITS, ...classesFor(express), requireHostHeader: false }, serve);
    this.httpServer.on('checkExpectation', serve);
    this.httpServer.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
      answerRaw(socket, error.code ?? ''),
    );
  }
}

/**
 * Classes whose objects are Express's from the start. Express gives each request and response another prototype, after
 * which V8 up to that of Node 22 makes a hidden class of its own for each of them: no property access is ever
 * optimised, and the old hidden classes keep whole requests from being collected by a scavenge.
 */
function classesFor(express: Express): {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
} {
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {}
  Object.setPrototypeOf(ExpressRequest.prototype, express.request);
  Object.setPrototypeOf(ExpressResponse.prototype, express.response);
  express.request = ExpressRequest.prototype as unknown as Express['request'];
  express.response = ExpressResponse.prototype as unknown as Express['response'];
  return { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}

const CODES: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** RFC 9112, section 3.2. */
function lacksHost(request: IncomingMessage): boolean {
  return request.httpVersion === '1.1' && request.headers.host === undefined;
}

/** There is no request yet, and no response to write to: only the socket. */
function answerRaw(socket: Duplex, errorCode: string): void {
  if (!socket.writable || errorCode === 'ECONNRESET') return void socket.destroy();
  const problem = new Problem(CODES[errorCode] ?? 'malformed_request');
  const requestId = requestIdOf({ headers: {} });
  const body = JSON.stringify(problem.toBody('/', requestId));
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${problem.title}`,
      'content-type: application/problem+json',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
