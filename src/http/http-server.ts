import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import { Problem, type ProblemCode } from '../common/problem.js';
import type { Config } from '../config/config.js';
import { Connection } from './connection.js';
import { hasManyChunks, requestClass } from './request-class.js';
import { requestIdOf } from './request-id.js';
import { RequestMemory } from './request-memory.js';
import { Turn } from './turn.js';

/** Slow clients are disconnected: Node's default limits would let them hold connections for minutes. */
const LIMITS = { headersTimeout: 5000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 };

/** Node stops receiving a body that nobody reads after the first piece. Its default lets it receive two. */
const HIGH_WATER_MARK = 16 * 1024;

/**
 * Called for each request that is refused before it reaches Express, with its problem and the request ID of the
 * response.
 */
export type RefusalObserver = (problem: Problem, requestId: string) => void;

/** Each field takes much more memory than its bytes. Browsers behind several proxies send about 40. */
const MAX_FIELDS = 100;

const CODES: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Express on a server with stricter limits. It also responds with a problem to requests that are not valid HTTP. */
export class HttpServer extends ExpressAdapter {
  /** Counts the requests that have not been read. */
  readonly memory = new RequestMemory();
  readonly #connections = new Map<Duplex, Connection>();
  /** Logs and counts refusals. */
  observeRefusal: RefusalObserver = () => undefined;

  constructor(private readonly config: Pick<Config, 'MAX_CONNECTIONS' | 'KEEP_ALIVE_SECONDS'>) {
    // Express reads these options when the adapter's constructor adds the first middleware.
    super(express().enable('case sensitive routing').enable('strict routing'));
  }

  override initHttpServer(): void {
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      const connection = this.#connections.get(request.socket);
      if (connection === undefined) return void request.destroy();
      this.memory.add(request, response, connection.isBusy);
      connection.add(request, response);
    };
    // Without these settings, Node itself responds to a missing Host and to an unknown expectation, without a body.
    const options = {
      ...LIMITS,
      highWaterMark: HIGH_WATER_MARK,
      requireHostHeader: false,
      IncomingMessage: requestClass((request) => this.#isOneTooMany(request)),
    };
    const server = createServer(options, serve);
    server.on('checkExpectation', serve);
    // Only requests that are one too many get here; see `requestClass`.
    server.on('upgrade', (_request, socket) => socket.destroy());
    // Node ignores further fields silently, so `#serve` refuses a request with this number.
    server.maxHeadersCount = MAX_FIELDS + 1;
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => this.#refuse(socket, error.code ?? ''));
    this.#bound(server);
    this.httpServer = server;
  }

  /** Sends the result of a handler. The turn ends first, so that a client that reads slowly does not keep it. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    Turn.of(response.req)?.leave();
    // The deadline has answered. The client sends the request again and gets this result.
    if (response.headersSent) return undefined;
    if (hasManyChunks(response.req)) response.set('connection', 'close');
    return super.reply(response, body, statusCode) as unknown;
  }

  /** Whether the client is to be disconnected instead. Requests in chunks must not wait, because chunks take time. */
  #isOneTooMany(request: IncomingMessage): boolean {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined || connection.isFull) return connection !== undefined;
    return connection.isBusy && (this.memory.isFull || 'transfer-encoding' in request.headers);
  }

  #bound(server: Server): void {
    server.keepAliveTimeout = this.config.KEEP_ALIVE_SECONDS * 1000;
    server.maxConnections = this.config.MAX_CONNECTIONS;
    server.on('connection', (socket: Socket) => {
      this.#connections.set(socket, new Connection(socket, (request, response) => this.#serve(request, response)));
      socket.once('close', () => this.#connections.delete(socket));
    });
    // Idle connections are closed to make space, and those that have sent no complete request for a second.
    let closedAt = 0;
    server.on('drop', () => {
      const aSecondAgo = performance.now() - 1000;
      if (closedAt > aSecondAgo) return;
      closedAt = performance.now();
      server.closeIdleConnections();
      for (const [socket, { idleSince }] of this.#connections) if (idleSince < aSecondAgo) socket.destroy();
    });
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const problem = problemOf(request);
    if (problem === undefined) return void this.getInstance<Express>()(request, response);
    const requestId = requestIdOf(request);
    this.observeRefusal(problem, requestId);
    const body = bodyOf(problem, requestId);
    response.writeHead(problem.status, headersOf(body, requestId)).end(body);
  }

  /** Responds to a request that cannot be parsed, after the responses to earlier requests on the same connection. */
  #refuse(socket: Duplex, errorCode: string): void {
    if (!socket.writable || errorCode === 'ECONNRESET') return void socket.destroy();
    this.#connections.get(socket)?.refuse(() => {
      const problem = new Problem(CODES[errorCode] ?? 'malformed_request');
      const requestId = requestIdOf({ headers: {} });
      this.observeRefusal(problem, requestId);
      socket.end(rawResponse(problem, requestId));
    });
  }
}

/** Returns why Express must not see the request. */
function problemOf(request: IncomingMessage): Problem | undefined {
  if (request.rawHeaders.length > 2 * MAX_FIELDS)
    return new Problem('headers_too_large', { detail: `a request is limited to ${MAX_FIELDS} header fields` });
  if (!toOriginForm(request)) return new Problem('malformed_request', { detail: 'the request target is not valid' });
  return undefined;
}

/**
 * Replaces a target in absolute form (RFC 9112, section 3.2.2) by its path and query. Express would respond to an
 * invalid one with a page.
 *
 * @returns whether the target is valid.
 */
function toOriginForm(request: IncomingMessage): boolean {
  const { url = '' } = request;
  if (url.startsWith('/') || url === '*') return true;
  if (!URL.canParse(url)) return false;
  const { pathname, search } = new URL(url);
  request.url = pathname + search;
  return pathname.startsWith('/');
}

const bodyOf = (problem: Problem, requestId: string): string => JSON.stringify(problem.toBody('/', requestId));

function headersOf(body: string, requestId: string): Record<string, string> {
  return {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    connection: 'close',
  };
}

/** A request that cannot be parsed has no `ServerResponse`, only a socket. */
function rawResponse(problem: Problem, requestId: string): string {
  const body = bodyOf(problem, requestId);
  const fields = Object.entries(headersOf(body, requestId)).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${problem.status} ${problem.title}`, ...fields, '', body].join('\r\n');
}
