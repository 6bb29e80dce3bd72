import { Injectable } from '@nestjs/common';
import type { Request, RequestHandler, Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';
import { hasBody } from './request-body.js';

/** Total bytes of bodies that have not arrived completely. */
const MAX_BYTES = 24 * 1024 * 1024;

/** Node receives this much of a body before anybody reads it, for example while the request waits for its turn. */
const READ_AHEAD_BYTES = 64 * 1024;

interface Upload {
  response: Response;
  bytes: number;
}

/**
 * Limits the memory of incomplete bodies. Above the limit the oldest upload is refused: clients usually send their body
 * within milliseconds, so the oldest uploads hold memory without making progress.
 */
@Injectable()
export class Uploads {
  #bytes = 0;
  /** Oldest first. */
  readonly #uploads = new Map<Request, Upload>();

  /** Counts what the body of each request may occupy before it is read. */
  limit(): RequestHandler {
    return (request, response, next) => {
      if (hasBody(request)) {
        this.#uploads.set(request, { response, bytes: 0 });
        this.#count(request, Math.min(Number(request.headers['content-length'] ?? Infinity), READ_AHEAD_BYTES));
        response.once('close', () => this.#forget(request));
      }
      next();
    };
  }

  /** Counts a body while it is read. */
  async counted<T>(request: Request, read: () => Promise<T>): Promise<T> {
    let received = 0;
    const count = (chunk: Buffer): void => this.#count(request, (received += chunk.length));
    request.on('data', count);
    try {
      return await read();
    } finally {
      request.off('data', count);
      this.#forget(request);
    }
  }

  #count(request: Request, bytes: number): void {
    const upload = this.#uploads.get(request);
    if (upload === undefined || bytes <= upload.bytes) return;
    this.#bytes += bytes - upload.bytes;
    upload.bytes = bytes;
    if (this.#bytes > MAX_BYTES) this.#refuseOldest();
  }

  #refuseOldest(): void {
    for (const [request, { response }] of this.#uploads) {
      this.#forget(request);
      // Closing the connection frees the memory and ends `read`.
      if (response.headersSent) return void request.destroy();
      response.once('finish', () => request.destroy());
      response.setHeader('connection', 'close');
      return sendProblem(request, response, unavailable(new Error('too many bodies are being received')));
    }
  }

  #forget(request: Request): void {
    this.#bytes -= this.#uploads.get(request)?.bytes ?? 0;
    this.#uploads.delete(request);
  }
}
