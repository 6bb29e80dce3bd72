import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { createLogger, NestLogger } from './logging/logger.js';
import { loadProcessConfig } from './config/config.js';
import { APP_OPTIONS, configureApp } from './configure-app.js';
import { HttpServer } from './http/http-server.js';
import { assertPortCanBeReused } from './reuse-port.js';

/** Reads the configuration and starts the service, which shuts down on SIGTERM. */
export async function start(): Promise<void> {
  const config = loadProcessConfig();
  const logger = createLogger(config);
  if (config.REUSE_PORT) await assertPortCanBeReused(config.HOST);
  const app = await NestFactory.create(AppModule.with(config), new HttpServer(config), {
    ...APP_OPTIONS,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  configureApp(app, logger);
  app.enableShutdownHooks(undefined, { useProcessExit: true });
  const options = { port: config.PORT, host: config.HOST, reusePort: config.REUSE_PORT };
  // Nest passes its first argument to Node's `server.listen`, which also accepts an options object.
  await app.listen(options as unknown as number);
  logger.info({ url: await app.getUrl() }, 'listening');
}
