import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';
import { hasBody } from './request-body.js';

/** Total bytes of bodies that have not been read completely. */
const MAX_BYTES = 24 * 1024 * 1024;

/** Node receives this much of a body before anybody reads it, for example while the request waits for its turn. */
const READ_AHEAD_BYTES = 64 * 1024;

interface Upload {
  response: ServerResponse;
  bytes: number;
}

/**
 * Limits the memory of bodies that have not been read. Above the limit the oldest upload is refused: clients usually
 * send their body within milliseconds, so the oldest uploads hold memory without making progress.
 */
export class Uploads {
  #bytes = 0;
  /** Oldest first. */
  readonly #uploads = new Map<IncomingMessage, Upload>();

  /** Counts what the body of a request may occupy before it is read. */
  add(request: IncomingMessage, response: ServerResponse): void {
    if (!hasBody(request)) return;
    this.#uploads.set(request, { response, bytes: 0 });
    this.#count(request, Math.min(Number(request.headers['content-length'] ?? Infinity), READ_AHEAD_BYTES));
    // If the connection closes, only the response to an answered request and only a request that still waits notice it.
    for (const end of [request, response]) end.once('close', () => this.#forget(request));
  }

  /** Counts a body while it is read. */
  async counted<T>(request: IncomingMessage, read: () => Promise<T>): Promise<T> {
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

  #count(request: IncomingMessage, bytes: number): void {
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
      if (response.headersSent || !isServed(response)) return void request.destroy();
      response.once('finish', () => request.destroy());
      response.setHeader('connection', 'close');
      return sendProblem(response.req, response, unavailable(new Error('too many bodies are being received')));
    }
  }

  #forget(request: IncomingMessage): void {
    this.#bytes -= this.#uploads.get(request)?.bytes ?? 0;
    this.#uploads.delete(request);
  }
}

/** A request that waits behind another one on its connection has not reached Express. */
const isServed = (response: ServerResponse): response is Response => 'locals' in response;
