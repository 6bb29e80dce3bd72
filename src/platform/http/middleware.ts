import { randomUUID } from 'node:crypto';
import { type INestApplication } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { Problem, unavailable } from '../values/problem.js';
import { type AppRequest } from './app-request.js';
import { sendProblem } from './responses.js';

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

/** How long a request takes at most, even if the database is slow; if it has a body, before and after its arrival. */
const ANSWER_MS = 4500;
/** The edge lets a client take this long, too. */
const BODY_MS = 10_000;

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
