import { type DynamicModule, type INestApplication, Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import helmet from 'helmet';
import { type Server } from 'node:http';
import { parse } from 'node:querystring';
import { type Logger } from 'pino';
import { AuthModule } from './auth/auth.module.js';
import { AccessTokenGuard, PermissionGuard } from './auth/caller.guard.js';
import { CashbackModule } from './cashback/cashback.module.js';
import { EventsModule } from './events/events.module.js';
import { MerchantsModule } from './merchants/merchants.module.js';
import { OperationsModule } from './operations/operations.module.js';
import { SweepsService } from './operations/sweeps.service.js';
import { OrdersModule } from './orders/orders.module.js';
import { Config, ConfigModule, loadProcessConfig } from './platform/config/config.js';
import { allowedOrigins, isLoopback, trustedProxies } from './platform/config/network.js';
import { Admission } from './platform/http/admission.js';
import { BodyGuard, RateLimitGuard } from './platform/http/guards.js';
import {
  allowOrigins,
  assignRequestId,
  Drain,
  httpAdapter,
  limitConnections,
  limitTime,
  secureResponses,
  serveBackOffice,
} from './platform/http/http-server.js';
import { ProblemFilter } from './platform/http/problem.filter.js';
import { RequestValidationPipe } from './platform/http/validation.pipe.js';
import { createLogger, logRequests, NestLogger } from './platform/observe/logger.js';
import { Metrics } from './platform/observe/metrics.js';
import { serveDocumentation } from './platform/openapi/swagger-ui.js';
import { DatabaseModule, PlatformModule, ServerModule } from './platform/platform.module.js';
import { STATEMENT_MS } from './platform/values/time-limits.js';
import { ClockModule } from './platform/values/time.js';
import { ReportsModule } from './reports/reports.module.js';
import { SandboxModule } from './sandbox/sandbox.module.js';
import { SCHEMA } from './schema.js';

/** The guards of every route, in the order in which they run. A body can take ten seconds. */
const GUARDS = [AccessTokenGuard, RateLimitGuard, PermissionGuard, BodyGuard, AccessTokenGuard, PermissionGuard];

@Module({})
export class AppModule {
  static with(config: Readonly<Config>): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.with(config),
        config.SANDBOX ? SandboxModule : ClockModule,
        DatabaseModule.with(SCHEMA, STATEMENT_MS),
        PlatformModule,
        ServerModule,
        AuthModule,
        OrdersModule,
        MerchantsModule,
        CashbackModule,
        EventsModule,
        ReportsModule,
        OperationsModule,
      ],
      providers: [
        ...GUARDS.map((useClass) => ({ provide: APP_GUARD, useClass })),
        // Outermost, because it stands here; inside it the clock of a sandbox, and then the completion of the response.
        { provide: APP_INTERCEPTOR, useExisting: Admission },
      ],
    };
  }
}

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
  app.useGlobalPipes(new RequestValidationPipe());
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

export async function start(): Promise<void> {
  const config = loadProcessConfig();
  const logger = createLogger(config);
  if (config.SANDBOX) logger.info('this is a sandbox: merchants for everybody, with clocks that can be moved');
  const app = await NestFactory.create(AppModule.with(config), httpAdapter(), {
    ...APP_OPTIONS,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  configureApp(app, logger);
  app.enableShutdownHooks(undefined, { useProcessExit: true });
  await app.listen(config.PORT, config.HOST);
  app.get(SweepsService).start();
  if (config.TRUST_PROXY === '' && !listensOnLoopback(app.getHttpServer() as Server))
    logger.warn('listening beyond loopback without TRUST_PROXY: run the service behind the edge (ops/edge.cfg)');
  if (config.NODE_ENV === 'production' && config.METRICS_TOKEN === undefined)
    logger.warn('/metrics needs no token: set METRICS_TOKEN');
  logger.info({ url: await app.getUrl() }, 'listening');
}

function listensOnLoopback(server: Server): boolean {
  const listening = server.address();
  return typeof listening === 'object' && listening !== null && isLoopback(listening.address);
}
