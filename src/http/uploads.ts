import type { Request, Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';

/** Total bytes of bodies that have not arrived completely. */
const MAX_BYTES = 32 * 1024 * 1024;

interface Upload {
  request: Request;
  response: Response;
  bytes: number;
}

/**
 * Limits the memory of incomplete bodies. Above the limit the oldest upload is refused: clients usually send their body
 * within milliseconds, so the oldest uploads hold memory without making progress.
 */
export class Uploads {
  #bytes = 0;
  /** Oldest first. */
  readonly #uploads = new Set<Upload>();

  /** Counts a body while it is read. */
  async counted<T>(request: Request, response: Response, read: () => Promise<T>): Promise<T> {
    const upload = { request, response, bytes: 0 };
    const count = (chunk: Buffer): void => {
      upload.bytes += chunk.length;
      this.#bytes += chunk.length;
      if (this.#bytes > MAX_BYTES) this.#refuseOldest();
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
      // Closing the connection frees the memory and ends `read`.
      response.once('finish', () => request.destroy());
      response.setHeader('connection', 'close');
      return sendProblem(request, response, unavailable(new Error('too many bodies are being received')));
    }
  }

  #forget(upload: Upload): void {
    if (this.#uploads.delete(upload)) this.#bytes -= upload.bytes;
  }
}
