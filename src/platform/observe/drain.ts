import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type RequestHandler, type Response } from 'express';
import { Config } from '../config/config.js';

/** How long running requests may take before their connections are closed. */
const GRACE_MS = 10_000;

/**
 * The graceful shutdown. The service immediately reports that it is not ready, so that load balancers stop sending
 * requests. For SHUTDOWN_DELAY_SECONDS it still serves requests, and closes each connection after its response. Then it
 * accepts no more connections and finishes the running requests.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  #isDraining = false;
  readonly #running = new Set<Response>();

  constructor(
    private readonly config: Config,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  get isDraining(): boolean {
    return this.#isDraining;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#isDraining = true;
    for (const response of this.#running) closeAfter(response);
    await sleep(this.config.SHUTDOWN_DELAY_SECONDS * 1000);
    const server = this.adapterHost.httpAdapter.getHttpServer() as { closeAllConnections?: () => void };
    setTimeout(() => server.closeAllConnections?.(), GRACE_MS).unref();
  }

  /** Tells clients not to reuse a connection during the shutdown. */
  closeConnections(): RequestHandler {
    return (_request, response, next) => {
      this.#running.add(response);
      response.once('close', () => this.#running.delete(response));
      if (this.#isDraining) closeAfter(response);
      next();
    };
  }
}

function closeAfter(response: Response): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
