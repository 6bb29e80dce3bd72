import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';
import { hasBody } from './request-body.js';

/** Total bytes of the requests that have not been read completely. */
const MAX_BYTES = 24 * 1024 * 1024;

/** Node receives this much of a body before anybody reads it, for example while the request waits for its turn. */
const READ_AHEAD_BYTES = 64 * 1024;

/** A head of this size is not counted: connections are limited, too. */
const USUAL_HEAD_BYTES = 2048;

/** What a request and its response occupy. It is only counted if the request waits behind another of its connection. */
const OBJECTS_BYTES = 6 * 1024;

/** A request that receives less than this in a second waits, or its client does. */
const PROGRESS_BYTES = 16 * 1024;
const PROGRESS_MS = 1000;

interface Counted {
  response: ServerResponse;
  bytes: number;
  /** When it had received `PROGRESS_BYTES` more, and what it had received then. */
  progress: { at: number; bytes: number };
}

/**
 * Limits the memory of large requests until they have been read. Above the limit the oldest one without progress is
 * refused. If all make progress, it is the newest large one, so that the others come to their end.
 */
export class RequestMemory {
  #bytes = 0;
  /** Oldest first. */
  readonly #requests = new Map<IncomingMessage, Counted>();

  /**
   * Counts the head of a request, and what its body may occupy before it is read.
   *
   * @param isBehind whether the request waits behind another one of its connection.
   */
  add(request: IncomingMessage, response: ServerResponse, isBehind: boolean): void {
    const head = headBytes(request) + (isBehind ? OBJECTS_BYTES : 0);
    if (head <= USUAL_HEAD_BYTES && !hasBody(request)) return;
    this.#requests.set(request, { response, bytes: 0, progress: { at: performance.now(), bytes: 0 } });
    this.#count(request, head + readAheadBytes(request));
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
    const counted = this.#requests.get(request);
    if (counted === undefined || bytes <= counted.bytes) return;
    this.#bytes += bytes - counted.bytes;
    counted.bytes = bytes;
    if (bytes - counted.progress.bytes >= PROGRESS_BYTES) counted.progress = { at: performance.now(), bytes };
    if (this.#bytes > MAX_BYTES) this.#refuse(this.#leastUseful() ?? request);
  }

  #leastUseful(): IncomingMessage | undefined {
    const before = performance.now() - PROGRESS_MS;
    let newest: IncomingMessage | undefined;
    for (const [request, { bytes, progress }] of this.#requests) {
      if (progress.at < before) return request;
      if (bytes >= PROGRESS_BYTES) newest = request;
    }
    return newest;
  }

  /** Closes the connection, which frees the memory and ends `read`. */
  #refuse(request: IncomingMessage): void {
    const response = this.#requests.get(request)?.response;
    this.#forget(request);
    if (response === undefined || response.headersSent || !isServed(response)) return void request.destroy();
    response.once('finish', () => request.destroy());
    response.setHeader('connection', 'close');
    sendProblem(response.req, response, unavailable(new Error('too many large requests are waiting')));
  }

  #forget(request: IncomingMessage): void {
    this.#bytes -= this.#requests.get(request)?.bytes ?? 0;
    this.#requests.delete(request);
  }
}

const headBytes = ({ url = '', rawHeaders }: IncomingMessage): number =>
  rawHeaders.reduce((sum, text) => sum + text.length, url.length);

function readAheadBytes(request: IncomingMessage): number {
  return hasBody(request) ? Math.min(Number(request.headers['content-length'] ?? Infinity), READ_AHEAD_BYTES) : 0;
}

/** A request that waits behind another one on its connection has not reached Express. */
const isServed = (response: ServerResponse): response is Response => 'locals' in response;
