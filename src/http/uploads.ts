import type { Request, Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';

/** Bytes of bodies that have not arrived completely, over all requests. */
const MOST_BYTES = 32 * 1024 * 1024;

interface Upload {
  request: Request;
  response: Response;
  bytes: number;
}

/**
 * Bounds the memory of bodies that are on their way. Above the bound the oldest upload is refused: a client that sends
 * its body is done within milliseconds, so the oldest are those that hold memory without sending.
 */
export class Uploads {
  #bytes = 0;
  /** The oldest first. */
  readonly #uploads = new Set<Upload>();

  /** Counts a body while it is read. */
  async counted<T>(request: Request, response: Response, read: () => Promise<T>): Promise<T> {
    const upload = { request, response, bytes: 0 };
    const count = (chunk: Buffer): void => {
      upload.bytes += chunk.length;
      this.#bytes += chunk.length;
      if (this.#bytes > MOST_BYTES) this.#refuseOldest();
    };
    this.#uploads.add(upload);
    request.on('data', count);
    try {
      return await read();
    } finally {
      request.off('data', count);
      this.#forget(upload);
    }
  }

  #refuseOldest(): void {
    for (const upload of this.#uploads) {
      this.#forget(upload);
      const { request, response } = upload;
      // What it has sent is freed with the connection, and the reader learns of the end by it.
      response.once('finish', () => request.destroy());
      response.setHeader('connection', 'close');
      return sendProblem(request, response, unavailable(new Error('too many bodies are being received')));
    }
  }

  #forget(upload: Upload): void {
    if (this.#uploads.delete(upload)) this.#bytes -= upload.bytes;
  }
}
