import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hasTooManyChunks } from './request-class.js';

/** Requests that may wait for the responses to earlier requests of their connection. Clients rarely pipeline at all. */
const MAX_WAITING = 16;

/** After a response, this much of the request's body is still read, so that the client can read the response. */
const MAX_DISCARDED_BYTES = 1024 * 1024;
const MAX_DISCARDING_MS = 1000;

interface Exchange {
  readonly request: IncomingMessage & { body?: unknown };
  readonly response: ServerResponse;
}

/**
 * The requests of one connection. They are served one at a time, so that a client cannot occupy more of the service
 * than its connections. An idle connection holds no request: it may stay idle for minutes.
 */
export class Connection {
  #current: Exchange | undefined;
  readonly #waiting: Exchange[] = [];
  /** Whether the body of a request that has its response is still arriving. */
  #isDiscarding = false;
  #whenIdle: (() => void) | undefined;
  #idleSince = performance.now();

  constructor(
    private readonly socket: Socket,
    private readonly serve: (request: IncomingMessage, response: ServerResponse) => void,
  ) {
    socket.once('close', () => {
      for (const { request } of this.#waiting.splice(0)) request.destroy();
    });
  }

  /** The instant since when there is no request; it may have begun to arrive. */
  get idleSince(): number {
    return this.isBusy ? Infinity : this.#idleSince;
  }

  /** Whether a request that arrives now waits behind another one. */
  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  /** Whether no further request may wait. A client that sends one is disconnected. */
  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING || this.socket.destroyed;
  }

  /** Serves a request after the earlier ones. */
  add(request: IncomingMessage, response: ServerResponse): void {
    this.#isDiscarding = false;
    if (this.socket.destroyed) return void request.destroy();
    this.#waiting.push({ request, response });
    if (this.#current === undefined) this.#serveNext();
  }

  /**
   * Calls `respond` after all responses to complete requests. The latest request may be the one that turned out to be
   * malformed. If its response has already been sent, the connection is closed instead.
   */
  refuse(respond: () => void): void {
    const isBroken = (exchange?: Exchange): boolean => exchange?.request.complete === false;
    if (isBroken(this.#waiting.at(-1))) this.#waiting.pop();
    else if (this.#isDiscarding || (isBroken(this.#current) && this.#current?.response.headersSent))
      return this.socket.destroySoon();
    else if (isBroken(this.#current)) return respond();
    this.#whenIdle = respond;
    if (this.#current === undefined) respond();
  }

  #serveNext(): void {
    this.#current = this.#waiting.shift();
    this.#idleSince = performance.now();
    if (this.#current === undefined) return this.#whenIdle?.();
    const { request, response } = this.#current;
    // Before Node's own listener, which would read a body of any length that nobody reads.
    response.prependOnceListener('finish', () => this.#discardBody(request));
    response.once('close', () => {
      request.body = undefined;
      if (!this.socket.destroyed) this.#serveNext();
    });
    this.serve(request, response);
  }

  /**
   * Stops reading after a while. The end of the stream tells the client not to reuse the connection. A second later it
   * is closed, which could otherwise reach the client before it has read the response.
   */
  #discardBody(request: IncomingMessage): void {
    if (request.complete) return;
    this.#isDiscarding = true;
    const timer = setTimeout(() => this.socket.destroy(), MAX_DISCARDING_MS);
    request.once('close', () => clearTimeout(timer));
    if (hasTooManyChunks(request)) return void this.socket.end();
    let left = MAX_DISCARDED_BYTES;
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left >= 0) return;
      request.pause();
      this.socket.end();
    });
    request.resume().read();
    request.once('end', () => clearTimeout(timer));
  }
}
