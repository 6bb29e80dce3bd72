import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { createLogger, NestLogger } from './logging/logger.js';
import { loadProcessConfig } from './config/config.js';
import { APP_OPTIONS, configureApp } from './configure-app.js';
import { HttpServer } from './http/http-server.js';
import { isSupervisor, superviseWorkers } from './workers.js';

/** Reads the configuration, creates the service and listens; it ends by SIGTERM. */
export async function start(): Promise<void> {
  const config = loadProcessConfig();
  const logger = createLogger(config);
  if (isSupervisor(config.WORKERS)) return superviseWorkers(config.WORKERS, logger);
  const app = await NestFactory.create(AppModule.with(config), new HttpServer(), {
    ...APP_OPTIONS,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  configureApp(app, logger);
  app.enableShutdownHooks(undefined, { useProcessExit: true });
  await app.listen(config.PORT, config.HOST);
  logger.info({ url: await app.getUrl() }, 'listening');
}
