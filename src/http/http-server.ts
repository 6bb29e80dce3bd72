import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import { Problem, type ProblemCode } from '../common/problem.js';
import type { Config } from '../config/config.js';
import { requestIdOf } from './request-id.js';

/** Slow clients are dropped: Node's own limits let hundreds of them stay for minutes. */
const LIMITS = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
};

/** Told of a request that never reached Express: what was wrong with it, and the id that its answer carries. */
export type RefusalObserver = (problem: Problem, requestId: string) => void;

const CODES: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Express on a server with our limits, which answers with a problem even what is not HTTP. */
export class HttpServer extends ExpressAdapter {
  /** The latest request of each connection. */
  readonly #latest = new WeakMap<Duplex, { request: IncomingMessage; response: ServerResponse }>();
  /** Of each connection, how many complete requests have no complete answer yet. */
  readonly #open = new WeakMap<Duplex, Set<ServerResponse>>();
  #observe: RefusalObserver = () => undefined;

  constructor(private readonly config: Pick<Config, 'MAX_CONNECTIONS' | 'KEEP_ALIVE_SECONDS'>) {
    // Express reads these when its first middleware is added, which the adapter's constructor does.
    super(express().enable('case sensitive routing').enable('strict routing'));
  }

  override initHttpServer(): void {
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      this.#track(request, response);
      this.getInstance<Express>()(request, response);
    };
    // Node's own answers to these two would have no body: a request without a Host, and an unknown expectation.
    const server = createServer({ ...LIMITS, requireHostHeader: false }, serve);
    server.on('checkExpectation', serve);
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => this.#refuse(socket, error.code ?? ''));
    this.#bound(server);
    this.httpServer = server;
  }

  /** Has refusals below HTTP logged and counted. */
  observeRefusals(observe: RefusalObserver): void {
    this.#observe = observe;
  }

  #bound(server: Server): void {
    server.keepAliveTimeout = this.config.KEEP_ALIVE_SECONDS * 1000;
    server.maxConnections = this.config.MAX_CONNECTIONS;
    // Connections without a request give way to new ones.
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

  /** Answers what cannot be parsed, after the answers that the connection still owes to earlier requests. */
  #refuse(socket: Duplex, errorCode: string): void {
    if (!socket.writable || errorCode === 'ECONNRESET') return void socket.destroy();
    const latest = this.#latest.get(socket);
    const broken = latest?.request.complete === false ? latest.response : undefined;
    const problem = new Problem(CODES[errorCode] ?? 'malformed_request');
    const requestId = requestIdOf({ headers: {} });
    this.#observe(problem, requestId);
    const due = [...(this.#open.get(socket) ?? [])].filter((response) => response !== broken);
    let left = due.length;
    const answer = (): void => {
      if (left > 0) return;
      // The request whose body is broken may have been answered already.
      if (broken?.headersSent) (socket as Socket).destroySoon();
      else socket.end(rawAnswer(problem, requestId));
    };
    for (const response of due)
      response.once('close', () => {
        left -= 1;
        answer();
      });
    answer();
  }
}

/** There is no response to write to, only the socket. */
function rawAnswer(problem: Problem, requestId: string): string {
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
