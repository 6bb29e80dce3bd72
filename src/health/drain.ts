import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { RequestHandler, Response } from 'express';
import { Config } from '../config/config.js';

/** How long requests under way may take before their connections are cut. */
const GRACE_MS = 10_000;

/**
 * The orderly end: not ready at once, so that balancers look elsewhere; for a while everything is still
 * served, on connections that close after it; then no connection is taken any more, and what is under
 * way finishes.
 */
@Injectable()
export class Drain implements BeforeApplicationShutdown {
  #isDraining = false;
  readonly #underWay = new Set<Response>();

  constructor(
    private readonly config: Config,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  get isDraining(): boolean {
    return this.#isDraining;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#isDraining = true;
    for (const response of this.#underWay) closeAfter(response);
    await sleep(this.config.SHUTDOWN_DELAY_SECONDS * 1000);
    const server = this.adapterHost.httpAdapter.getHttpServer() as { closeAllConnections?: () => void };
    setTimeout(() => server.closeAllConnections?.(), GRACE_MS).unref();
  }

  /** Tells clients not to reuse a connection that is about to go. */
  closeConnections(): RequestHandler {
    return (_request, response, next) => {
      this.#underWay.add(response);
      response.once('close', () => this.#underWay.delete(response));
      if (this.#isDraining) closeAfter(response);
      next();
    };
  }
}

function closeAfter(response: Response): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
