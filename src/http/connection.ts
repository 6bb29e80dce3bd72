import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hasManyChunks, hasTooManyChunks } from './request-class.js';

/** Requests that may wait for the responses to earlier requests of their connection. Clients rarely pipeline at all. */
const MAX_WAITING = 16;

/** After a response, this much of the request's body is still read, so that the client can read the response. */
const MAX_DISCARDED_BYTES = 1024 * 1024;
const MAX_CLOSING_MS = 1000;

/** From the request's headers to the last byte of its response. Slower clients are disconnected. */
const MAX_EXCHANGE_MS = 30_000;

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
  #closing: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: Socket,
    private readonly serve: (request: IncomingMessage, response: ServerResponse) => void,
  ) {
    // Node calls this after the last response, even if the client is still sending the body of its request.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => (this.#isDiscarding ? void socket.end() : destroySoon());
    socket.once('close', () => {
      clearTimeout(this.#closing);
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
    return this.#waiting.length >= MAX_WAITING || !this.socket.writable;
  }

  /** Serves a request after the earlier ones, unless it could not be answered. */
  add(request: IncomingMessage, response: ServerResponse): void {
    this.#isDiscarding = false;
    if (!this.socket.writable) return void request.destroy();
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
    const respondLast = (): void => {
      respond();
      this.#closeSoon();
    };
    if (isBroken(this.#current)) return respondLast();
    this.#whenIdle = respondLast;
    if (this.#current === undefined) respondLast();
  }

  #serveNext(): void {
    this.#current = this.#waiting.shift();
    this.#idleSince = performance.now();
    if (this.#current === undefined) return this.#whenIdle?.();
    const { request, response } = this.#current;
    // Before Node's own listener, which would read a body of any length that nobody reads.
    response.prependOnceListener('finish', () => this.#discardBody(request));
    const timer = setTimeout(() => this.socket.destroy(), MAX_EXCHANGE_MS);
    response.once('close', () => {
      clearTimeout(timer);
      request.body = undefined;
      if (!this.socket.destroyed) this.#serveNext();
    });
    this.serve(request, response);
  }

  /** Disconnects the client in a second: at once could reach it before it has read the response. */
  #closeSoon(): void {
    clearTimeout(this.#closing);
    this.#closing = setTimeout(() => this.socket.destroy(), MAX_CLOSING_MS);
  }

  /** Stops reading after a while. The end of the stream tells the client not to reuse the connection. */
  #discardBody(request: IncomingMessage): void {
    if (request.complete) return;
    this.#isDiscarding = true;
    this.#closeSoon();
    if (hasTooManyChunks(request)) return void this.socket.end();
    let left = MAX_DISCARDED_BYTES;
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left >= 0) return;
      request.pause();
      this.socket.end();
    });
    request.resume().read();
    request.once('end', () => {
      if (hasManyChunks(request)) return void this.socket.end();
      this.#isDiscarding = false;
      if (this.socket.writable) clearTimeout(this.#closing);
    });
  }
}
