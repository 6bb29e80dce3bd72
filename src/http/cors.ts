import type { INestApplication } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';

/** The headers that a page may send and read. Credentials are not allowed, because the service uses no cookies. */
const OPTIONS = {
  methods: ['GET', 'POST', 'PUT'],
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
