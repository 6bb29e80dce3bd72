import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express } from 'express';
import { Problem, type ProblemCode } from '../common/problem.js';
import type { Config } from '../config/config.js';
import { requestIdOf } from './request-id.js';

export type RefusalObserver = (problem: Problem, requestId: string) => void;

export const MAX_FIELDS = 100;
const LIMITS = { headersTimeout: 5000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 };

const CODES: Record<string, ProblemCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Nest's adapter with Node's limits. It answers requests that are not valid HTTP with a problem. */
export class HttpServer extends ExpressAdapter {
  observeRefusal: RefusalObserver = () => undefined;

  constructor(private readonly config: Pick<Config, 'MAX_CONNECTIONS' | 'KEEP_ALIVE_SECONDS'>) {
    super(express().enable('case sensitive routing').enable('strict routing'));
  }

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const server = createServer({ ...LIMITS, requireHostHeader: false }, app);
    server.on('checkExpectation', app);
    server.keepAliveTimeout = this.config.KEEP_ALIVE_SECONDS * 1000;
    server.maxConnections = this.config.MAX_CONNECTIONS;
    server.maxHeadersCount = MAX_FIELDS + 1;
    server.maxRequestsPerSocket = 10_000;
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => this.#refuse(error.code, socket as Socket));
    this.httpServer = server;
  }

  #refuse(code = '', socket: Socket): void {
    if (!socket.writable || socket.bytesWritten > 0 || code === 'ECONNRESET') return void socket.destroy();
    const problem = new Problem(CODES[code] ?? 'malformed_request');
    const id = requestIdOf({ headers: {} });
    this.observeRefusal(problem, id);
    const body = JSON.stringify(problem.toBody('/', id));
    const head = `HTTP/1.1 ${problem.status} ${problem.title}\r\ncontent-type: application/problem+json\r\ncache-control: no-store\r\nx-request-id: ${id}\r\n`;
    socket.end(`${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
  }
}
