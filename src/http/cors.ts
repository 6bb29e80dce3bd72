import type { INestApplication } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';

/** What a page may send, and what of an answer's headers it may read; there are no cookies, hence no credentials. */
const OPTIONS = {
  methods: ['GET', 'POST', 'PUT'],
  allowedHeaders: ['authorization', 'content-type', 'x-request-id'],
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

/** Lets pages of these origins call the service from a browser. Everybody else is answered as if there were no such thing. */
export function allowOrigins(app: INestApplication, origins: string[]): void {
  if (origins.length === 0) return;
  app.use((_request: Request, response: Response, next: NextFunction) => {
    response.vary('Origin');
    next();
  });
  app.enableCors((request: Request, decide: (error: null, options: object) => void) => {
    const { origin = '', 'access-control-request-method': method } = request.headers;
    // An OPTIONS that is no preflight is a method like any other, which no resource knows.
    decide(null, {
      ...OPTIONS,
      origin: origins.includes(origin) ? origin : false,
      preflightContinue: method === undefined,
    });
  });
}
