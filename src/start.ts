import type { Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { createLogger, NestLogger } from './logging/logger.js';
import { loadProcessConfig } from './config/config.js';
import { isLoopback } from './config/network.js';
import { APP_OPTIONS, configureApp } from './configure-app.js';
import { httpAdapter } from './http/http-server.js';
import { SweepsService } from './sweeps/sweeps.service.js';

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
