import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import { Problem, type ProblemCode } from '../common/problem.js';
import type { Config } from '../config/config.js';
import { requestIdOf } from './request-id.js';
import { Turn } from './turn.js';

/** Slow clients are disconnected: Node's default limits would let them hold connections for minutes. */
const LIMITS = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
};

/**
 * Called for each request that is refused before it reaches Express, with its problem and the request ID of the
 * response.
 */
export type RefusalObserver = (problem: Problem, requestId: string) => void;

const CODES: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Express on a server with stricter limits. It also responds with a problem to requests that are not valid HTTP. */
export class HttpServer extends ExpressAdapter {
  /** The latest request of each connection. */
  readonly #latest = new WeakMap<Duplex, { request: IncomingMessage; response: ServerResponse }>();
  /** The unfinished responses of each connection. */
  readonly #open = new WeakMap<Duplex, Set<ServerResponse>>();
  #observe: RefusalObserver = () => undefined;

  constructor(private readonly config: Pick<Config, 'MAX_CONNECTIONS' | 'KEEP_ALIVE_SECONDS'>) {
    // Express reads these options when the adapter's constructor adds the first middleware.
    super(express().enable('case sensitive routing').enable('strict routing'));
  }

  override initHttpServer(): void {
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      this.#track(request, response);
      this.getInstance<Express>()(request, response);
    };
    // Without these settings, Node itself responds to a missing Host and to an unknown expectation, without a body.
    const server = createServer({ ...LIMITS, requireHostHeader: false }, serve);
    server.on('checkExpectation', serve);
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => this.#refuse(socket, error.code ?? ''));
    this.#bound(server);
    this.httpServer = server;
  }

  /** Sends the result of a handler. The turn ends first, so that a client that reads slowly does not keep it. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    Turn.of(response.req)?.leave();
    return super.reply(response, body, statusCode) as unknown;
  }

  /** Sets the observer that logs and counts refusals. */
  observeRefusals(observe: RefusalObserver): void {
    this.#observe = observe;
  }

  #bound(server: Server): void {
    server.keepAliveTimeout = this.config.KEEP_ALIVE_SECONDS * 1000;
    server.maxConnections = this.config.MAX_CONNECTIONS;
    // Idle connections are closed to make space for new ones.
    let closedAt = 0;
    server.on('drop', () => {
      if (performance.now() - closedAt < 1000) return;
      closedAt = performance.now();
      server.closeIdleConnections();
    });
  }

  #track(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    this.#latest.set(socket, { request, response });
    const open = this.#open.get(socket) ?? new Set();
    this.#open.set(socket, open.add(response));
    response.once('close', () => open.delete(response));
  }

  /** Responds to a request that cannot be parsed, after the responses to earlier requests on the same connection. */
  #refuse(socket: Duplex, errorCode: string): void {
    if (!socket.writable || errorCode === 'ECONNRESET') return void socket.destroy();
    const latest = this.#latest.get(socket);
    const broken = latest?.request.complete === false ? latest.response : undefined;
    const problem = new Problem(CODES[errorCode] ?? 'malformed_request');
    const requestId = requestIdOf({ headers: {} });
    this.#observe(problem, requestId);
    const pending = [...(this.#open.get(socket) ?? [])].filter((response) => response !== broken);
    let left = pending.length;
    const respond = (): void => {
      if (left > 0) return;
      // The response may have been sent before the body turned out to be malformed.
      if (broken?.headersSent) (socket as Socket).destroySoon();
      else socket.end(rawResponse(problem, requestId));
    };
    for (const response of pending)
      response.once('close', () => {
        left -= 1;
        respond();
      });
    respond();
  }
}

/** A request that cannot be parsed has no `ServerResponse`, only a socket. */
function rawResponse(problem: Problem, requestId: string): string {
  const body = JSON.stringify(problem.toBody('/', requestId));
  return [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    'content-type: application/problem+json',
    'cache-control: no-store',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}
