import { type BeforeApplicationShutdown, type INestApplication, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import compression from 'compression';
import express, {
  type Express,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  static as serveFolder,
} from 'express';
import helmet from 'helmet';
import { randomUUID } from 'node:crypto';
import { type Server } from 'node:http';
import { type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Config } from '../config/config.js';
import { Problem, unavailable } from '../values/problem.js';
import { ANSWER_MS, BODY_MS } from '../values/time-limits.js';
import { type AppRequest, sendProblem } from './app-request.js';

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

/** The headers that a page may send and read. Credentials are not allowed, because the service uses no cookies. */
const OPTIONS = {
  methods: ['GET', 'POST', 'PUT', 'DELETE'],
  allowedHeaders: ['authorization', 'content-type', 'if-match', 'x-request-id'],
  exposedHeaders: [
    'x-request-id',
    'Idempotency-Replayed',
    'Retry-After',
    'RateLimit',
    'RateLimit-Policy',
    'WWW-Authenticate',
  ],
  maxAge: 600,
};

/** Lets pages of these origins call the service from a browser. Responses to other origins have no CORS headers. */
export function allowOrigins(app: INestApplication, origins: string[]): void {
  if (origins.length === 0) return;
  app.use((_request: Request, response: Response, next: NextFunction) => {
    response.vary('Origin');
    next();
  });
  app.enableCors((request: Request, decide: (error: null, options: object) => void) => {
    const { origin = '', 'access-control-request-method': method } = request.headers;
    // An OPTIONS request that is not a preflight is handled like any other unsupported method.
    decide(null, {
      ...OPTIONS,
      origin: origins.includes(origin) ? origin : false,
      preflightContinue: method === undefined,
    });
  });
}

export function limitTime(request: AppRequest, response: Response, next: NextFunction): void {
  startDeadline(request, response);
  response.once('close', () => clearTimeout(request.deadline));
  next();
}

/**
 * Sends a 503 if nothing else is sent in time. The work may still complete: every operation is safe to retry, which
 * shows the outcome.
 */
export function startDeadline(request: AppRequest, response: Response): void {
  answerAfter(ANSWER_MS, request, response, () => unavailable(undefined));
}

/** Sends a 408 if the body does not arrive in time. Its arrival does not count as the service's time. */
export function startBodyDeadline(request: AppRequest, response: Response): void {
  answerAfter(BODY_MS, request, response, () => new Problem('request_timeout', { headers: { connection: 'close' } }));
}

function answerAfter(milliseconds: number, request: AppRequest, response: Response, problem: () => Problem): void {
  if (response.closed) return;
  clearTimeout(request.deadline);
  request.answerBy = performance.now() + milliseconds;
  request.deadline = setTimeout(() => {
    if (!response.headersSent) sendProblem(request, response, problem());
  }, milliseconds);
}

/**
 * Most responses contain personal data or tokens, and all others change over time. The other headers of helmet concern
 * pages, of which there are only those at `/docs`.
 */
export function secureResponses(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  next();
}

/** Every ID in a path is one, apart from the caller's `external_id`. */
const UUID = '[0-9a-f-]{36}';

type MethodsResponse = Response<unknown, { allow?: Set<string> }>;

/**
 * Refuses methods that a path does not support with a 405 that lists the supported ones (RFC 9110, section 15.5.6), and
 * paths that do not exist with a 404; Express has only the 404. Nest runs this hook when all routes exist, and adds its
 * handler for unknown paths after it.
 */
@Injectable()
export class AllowedMethods implements OnModuleInit {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  onModuleInit(): void {
    const app = this.adapterHost.httpAdapter?.getInstance<Express>();
    const routes = methodsByPath(app);
    for (const [path, methods] of routes) app.all(path, noteMethods(methods));
    app.use(refuseMethod);
    app.use(refusePath([...routes.keys()]));
  }
}

function methodsByPath(app: Express): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { route } of app.router.stack) {
    if (route === undefined) continue;
    const methods = found.get(route.path) ?? new Set();
    for (const { method } of route.stack) methods.add(method.toUpperCase());
    if (methods.has('GET')) methods.add('HEAD');
    found.set(route.path, methods);
  }
  return found;
}

/** Several paths can match a request, such as `/orders/:id` and `/orders/search`. */
function noteMethods(methods: Set<string>): RequestHandler {
  return (_request, response: MethodsResponse, next) => {
    response.locals.allow = new Set([...(response.locals.allow ?? []), ...methods]);
    next();
  };
}

function refuseMethod(_request: Request, response: MethodsResponse, next: NextFunction): void {
  if (response.locals.allow === undefined) return next();
  const allow = [...response.locals.allow].sort().join(', ');
  next(new Problem('method_not_allowed', { detail: `allowed: ${allow}`, headers: { allow } }));
}

function refusePath(routes: string[]): RequestHandler {
  const existing = routes.map(
    (route) => new RegExp(`^${route.replace(':external_id', '[^/]+').replace(/:\w+/g, UUID)}$`),
  );
  return ({ path }, _response, next) => {
    const meant = path.replace(/^\/v\d+(?=\/)/, '').replace(/\/$/, '');
    const hint = existing.some((route) => route.test(meant)) ? `; did you mean "${meant}"?` : '';
    next(new Problem('route_not_found', { detail: `no operation has this path${hint}` }));
  };
}

/** How long running requests may take before their connections are closed. */
const GRACE_MS = 10_000;

/**
 * The graceful shutdown. The service immediately reports that it is not ready, so that load balancers stop sending
 * requests. For SHUTDOWN_DELAY_SECONDS it still serves requests, and closes each connection after its response. Then it
 * accepts no more connections and finishes the running requests.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  #isDraining = false;
  readonly #running = new Set<Response>();

  constructor(
    private readonly config: Config,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  get isDraining(): boolean {
    return this.#isDraining;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#isDraining = true;
    for (const response of this.#running) closeAfter(response);
    await sleep(this.config.SHUTDOWN_DELAY_SECONDS * 1000);
    const server = this.adapterHost.httpAdapter.getHttpServer() as { closeAllConnections?: () => void };
    setTimeout(() => server.closeAllConnections?.(), GRACE_MS).unref();
  }

  /** Tells clients not to reuse a connection during the shutdown. */
  closeConnections(): RequestHandler {
    return (_request, response, next) => {
      this.#running.add(response);
      response.once('close', () => this.#running.delete(response));
      if (this.#isDraining) closeAfter(response);
      next();
    };
  }
}

function closeAfter(response: Response): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

/** Where `npm run build` puts the page, also if the service runs from `src`, as in tests. */
const FOLDER = path.join(import.meta.dirname.replace(/(dist.)?src.platform.http$/, ''), 'dist/back-office');

/** The page loads nothing from elsewhere, runs nothing but its own files, and no other page shows it in a frame. */
const directives = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'connect-src': ["'self'"],
  'img-src': ['data:'],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

const YEAR = 'public, max-age=31536000, immutable';

/** Serves the page of docs/back-office.md at `/back-office/`. The names of its files change with their content. */
export function serveBackOffice(app: NestExpressApplication): void {
  app.use('/back-office', helmet({ contentSecurityPolicy: { useDefaults: false, directives } }));
  const setHeaders = (response: { setHeader(name: string, value: string): unknown }, path: string): void =>
    void response.setHeader('cache-control', path.endsWith('.html') ? 'no-cache' : YEAR);
  app.use('/back-office', (request: Request, _: Response, next: NextFunction) => {
    // Otherwise a failed condition is an error of Express and no problem.
    for (const condition of ['if-match', 'if-unmodified-since']) delete request.headers[condition];
    next();
  });
  // Not the problems: the size of compressed JSON could tell what is in it.
  const filter = (_: Request, response: Response): boolean =>
    String(response.getHeader('content-type')).startsWith('text/');
  app.use('/back-office', compression({ threshold: 0, filter }));
  app.use('/back-office', serveFolder(FOLDER, { cacheControl: false, acceptRanges: false, setHeaders }));
}
