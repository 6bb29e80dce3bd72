import type { Server } from 'node:http';
import { parse } from 'node:querystring';
import type { INestApplication } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { serveBackOffice } from './http/back-office.js';
import { allowOrigins, assignRequestId, limitTime, secureResponses } from './http/middleware.js';
import { logRequests } from './logging/logger.js';
import { ProblemFilter } from './http/problem.filter.js';
import { RequestValidationPipe } from './http/validation.pipe.js';
import { Config } from './config/config.js';
import { allowedOrigins, trustedProxies } from './config/network.js';
import { serveDocumentation } from './openapi/swagger-ui.js';
import { limitConnections } from './http/http-server.js';
import { Drain } from './health/drain.js';
import { Metrics } from './metrics/metrics.js';

/** axios and PHP send a list as `status[]=a&status[]=b`. */
const parseQuery = (query: string | null | undefined): object =>
  parse((query ?? '').replaceAll(/(^|&)([^&=]*)(?:\[\]|%5B%5D)=/gi, '$1$2='));

/** Options for `NestFactory.create`. Bodies are read by `BodyGuard`, after authentication. */
export const APP_OPTIONS = { bodyParser: false } as const;

/** Sets up everything between the socket and the controllers, identically in production and in tests. */
export function configureApp(app: INestApplication, logger: Logger): void {
  const express = app as NestExpressApplication;
  const config = app.get(Config);
  const metrics = app.get(Metrics);
  express.set('etag', false);
  express.set('query parser', parseQuery);
  express.disable('x-powered-by');
  express.set('trust proxy', trustedProxies(config.TRUST_PROXY));
  app.use(assignRequestId);
  app.use(logRequests(logger));
  app.use(metrics.observeRequests());
  app.use(app.get(Drain).closeConnections());
  app.use(secureResponses);
  allowOrigins(app, allowedOrigins(config.CORS_ORIGINS) ?? []);
  app.use(limitTime);
  app.useGlobalPipes(new RequestValidationPipe(config));
  app.useGlobalFilters(new ProblemFilter());
  if (config.DOCS) {
    app.use('/docs', helmet({ contentSecurityPolicy: { directives: { 'upgrade-insecure-requests': null } } }));
    serveDocumentation(app);
  }
  if (config.BACK_OFFICE) serveBackOffice(express);
  limitConnections(app.getHttpServer() as Server, config.KEEP_ALIVE_SECONDS, (problem, requestId) => {
    metrics.refusedBelowHttp(problem);
    logger.info({ request_id: requestId, status: problem.status, code: problem.code }, 'refused_connection');
  });
}
