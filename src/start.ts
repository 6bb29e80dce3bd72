import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { createLogger, NestLogger } from './logging/logger.js';
import { loadProcessConfig } from './config/config.js';
import { APP_OPTIONS, configureApp } from './configure-app.js';
import { HttpServer } from './http/http-server.js';

/** Reads the configuration and starts the service, which shuts down on SIGTERM. */
export async function start(): Promise<void> {
  const config = loadProcessConfig();
  const logger = createLogger(config);
  const app = await NestFactory.create(AppModule.with(config), new HttpServer(config), {
    ...APP_OPTIONS,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  configureApp(app, logger);
  app.enableShutdownHooks(undefined, { useProcessExit: true });
  await app.listen(config.PORT, config.HOST);
  logger.info({ url: await app.getUrl() }, 'listening');
}
