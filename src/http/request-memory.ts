import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from 'express';
import { unavailable } from '../common/problem.js';
import { sendProblem } from './problem-response.js';
import { hasBody } from './request-body.js';

const MIB = 1024 * 1024;

/**
 * Total bytes of requests that wait behind another one of their connection, of others that nobody has begun to read,
 * and of bodies that are being read.
 */
const MAX_BYTES = { behind: 8 * MIB, unread: 16 * MIB, reading: 24 * MIB };

/** Node receives this much of a body before anybody reads it, for example while the request waits for its turn. */
const READ_AHEAD_BYTES = 64 * 1024;

/** A head of this size is not counted: connections are limited, too. */
const USUAL_HEAD_BYTES = 2048;

/** What a request and its response occupy. It is only counted if the request waits behind another of its connection. */
const OBJECTS_BYTES = 6 * 1024;

/** What a piece of a body occupies beside its bytes: it may have only one. */
const PIECE_BYTES = 256;

/**
 * Limits the memory of large requests until their bodies have arrived. Bodies that are read belong to callers with a
 * token, and few clients pipeline. So each has a limit of its own, and cannot be displaced by requests without a token.
 */
export class RequestMemory {
  readonly #behind = new CountedRequests();
  readonly #unread = new OldestRefused(MAX_BYTES.unread);
  readonly #reading = new OldestRefused(MAX_BYTES.reading);

  /**
   * Whether no further request may wait behind another one of its connection. Those that wait are not refused: Node
   * would keep them until it has received the requests of all other connections that are ready.
   */
  get isFull(): boolean {
    return this.#behind.bytes >= MAX_BYTES.behind;
  }

  /**
   * Counts the head of a request, and what its body may occupy before it is read.
   *
   * @param isBehind whether the request waits behind another one of its connection.
   */
  add(request: IncomingMessage, response: ServerResponse, isBehind: boolean): void {
    const head = headBytes(request) + (isBehind ? OBJECTS_BYTES : 0);
    if (head <= USUAL_HEAD_BYTES && !hasBody(request)) return;
    const counted = isBehind ? this.#behind : this.#unread;
    counted.count(request, response, head + readAheadBytes(request));
    // If the connection closes, only the response to an answered request and only a request that still waits notice it.
    for (const end of [request, response]) end.once('close', () => counted.forget(request));
  }

  /** Counts the head of a request and its body while that is read. */
  async counted<T>(request: IncomingMessage, response: ServerResponse, read: () => Promise<T>): Promise<T> {
    this.#behind.forget(request);
    this.#unread.forget(request);
    let bytes = headBytes(request);
    this.#reading.count(request, response, bytes);
    const count = (chunk: Buffer): void =>
      this.#reading.count(request, response, (bytes += chunk.length + PIECE_BYTES));
    request.on('data', count);
    try {
      return await read();
    } finally {
      request.off('data', count);
      this.#reading.forget(request);
    }
  }
}

/** Requests with their bytes. */
class CountedRequests {
  #bytes = 0;
  /** Oldest first. */
  protected readonly requests = new Map<IncomingMessage, { response: ServerResponse; bytes: number }>();

  get bytes(): number {
    return this.#bytes;
  }

  count(request: IncomingMessage, response: ServerResponse, bytes: number): void {
    this.#bytes += bytes - (this.requests.get(request)?.bytes ?? 0);
    this.requests.set(request, { response, bytes });
  }

  forget(request: IncomingMessage): void {
    this.#bytes -= this.requests.get(request)?.bytes ?? 0;
    this.requests.delete(request);
  }
}

/**
 * Above the limit the oldest request is refused: clients usually send a request within milliseconds, so the oldest ones
 * hold memory without making progress.
 */
class OldestRefused extends CountedRequests {
  constructor(private readonly maximum: number) {
    super();
  }

  override count(request: IncomingMessage, response: ServerResponse, bytes: number): void {
    super.count(request, response, bytes);
    while (this.bytes > this.maximum) this.#refuseOldest();
  }

  #refuseOldest(): void {
    for (const [request, { response }] of this.requests) {
      this.forget(request);
      if (response.headersSent || !isServed(response)) return discard(request);
      response.once('finish', () => discard(request));
      response.setHeader('connection', 'close');
      return sendProblem(response.req, response, unavailable(new Error('too many large requests are waiting')));
    }
  }
}

/**
 * Closes the connection, which ends `read`. Node keeps the request until it has received the requests of all other
 * connections that are ready, so its head goes at once.
 */
function discard(request: IncomingMessage): void {
  request.destroy();
  request.rawHeaders.length = 0;
  request.headers = {};
  request.headersDistinct = {};
  request.url = '';
}

const headBytes = ({ url = '', rawHeaders }: IncomingMessage): number =>
  rawHeaders.reduce((sum, text) => sum + text.length, url.length);

function readAheadBytes(request: IncomingMessage): number {
  return hasBody(request) ? Math.min(Number(request.headers['content-length'] ?? Infinity), READ_AHEAD_BYTES) : 0;
}

/** A request that waits behind another one on its connection has not reached Express. */
const isServed = (response: ServerResponse): response is Response => 'locals' in response;
