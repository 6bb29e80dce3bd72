import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { answerInTime } from './http/request-deadline.js';
import { readJsonBody } from './http/json-body.js';
import { logRequests } from './logging/logger.js';
import { ProblemFilter } from './http/problem.filter.js';
import { assignRequestId } from './http/request-id.js';
import { RequestValidationPipe } from './http/validation.pipe.js';
import { Config } from './config/config.js';
import { allowedOrigins } from './config/origins.js';
import { trustedProxies } from './config/trust-proxy.js';
import { allowOrigins } from './http/cors.js';
import { serveDocumentation } from './http/documentation.js';
import { Drain } from './health/drain.js';
import { Metrics } from './metrics/metrics.js';

/** What Nest needs to know when the application is created, for `configureApp` to do the rest. */
export const APP_OPTIONS = { bodyParser: false } as const;

/** Everything between the socket and the controllers: the same in production and in tests. */
export function configureApp(app: INestApplication, logger: Logger): void {
  const express = app as NestExpressApplication;
  // An answer is never a cached one: an order stands as it now stands.
  express.set('etag', false);
  express.set('query parser', 'simple');
  express.disable('x-powered-by');
  express.set('trust proxy', trustedProxies(app.get(Config).TRUST_PROXY));
  app.use(assignRequestId);
  app.use(logRequests(logger));
  app.use(app.get(Metrics).observeRequests());
  app.use(app.get(Drain).closeConnections());
  app.use(helmet({ contentSecurityPolicy: { directives: { 'upgrade-insecure-requests': null } } }));
  allowOrigins(app, allowedOrigins(app.get(Config).CORS_ORIGINS) ?? []);
  app.use(readJsonBody());
  // Only now does the time run that is ours: a body that comes slowly is the client's affair, and the server's limits'.
  app.use(answerInTime());
  app.useGlobalPipes(new RequestValidationPipe(app.get(Config)));
  app.useGlobalFilters(new ProblemFilter());
  serveDocumentation(app);
}
