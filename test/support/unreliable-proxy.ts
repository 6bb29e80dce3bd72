import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * What happens to a request. The first three do not reach the service:
 *
 * - `refuse`: the connection is reset
 * - `page`: the answer is a 502 with a page for people
 * - `busy`: the answer is 429 with `Retry-After: 0`
 * - `lose`: the service answers, and the connection is reset before the answer arrives
 * - `cut`: the connection is reset in the middle of the body
 * - `shorten`: half of the body arrives, as if that were all
 * - `delay`: the answer is late
 */
export type Fault = (typeof FAULTS)[number];
export const FAULTS = ['refuse', 'page', 'busy', 'lose', 'cut', 'shorten', 'delay'] as const;

const DELAY_MS = 100;

interface Passed {
  method: string;
  path: string;
  fault: Fault | undefined;
}

/** Fails this share of the requests, each in one of all ways. */
export const failing = (share: number) => (): Fault | undefined =>
  Math.random() < share ? FAULTS[Math.floor(Math.random() * FAULTS.length)] : undefined;

/** A proxy before the service that does what networks do. */
export class UnreliableProxy {
  /** Decides what happens to a request. */
  fault: (request: { method: string; path: string }) => Fault | undefined = () => undefined;
  /** The requests that have arrived. */
  readonly passed: Passed[] = [];

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    private readonly target: string,
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  static async start(target: string): Promise<UnreliableProxy> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new UnreliableProxy(server, target);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** These faults happen to the next requests to this path, in this order. */
  script(path: string, ...faults: Fault[]): void {
    this.passed.length = 0;
    this.fault = (request) => (request.path === path ? faults.shift() : undefined);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await once(this.server.close(), 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat((await request.toArray()) as Buffer[]);
    const { method = '', url: path = '' } = request;
    const fault = this.fault({ method, path });
    this.passed.push({ method, path, fault });
    if (fault === 'refuse') return void response.destroy();
    if (fault === 'page') return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Oops</h1>');
    if (fault === 'busy') return void response.writeHead(429, { 'retry-after': '0' }).end();
    const names = ['authorization', 'content-type', 'accept', 'if-match'];
    const headers = Object.fromEntries(
      names.flatMap((name) => (request.headers[name] ? [[name, request.headers[name] as string]] : [])),
    );
    const answer = await fetch(`${this.target}${path}`, { method, headers, ...(body.length > 0 && { body }) });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (fault === 'lose') return void response.destroy();
    if (fault === 'delay') await sleep(DELAY_MS);
    await this.#answer(response, answer, bytes, fault);
  }

  async #answer(response: ServerResponse, answer: Response, bytes: Buffer, fault: Fault | undefined): Promise<void> {
    const half = bytes.subarray(0, bytes.length / 2);
    const sent = fault === 'shorten' ? half : bytes;
    const kept = ['content-type', 'retry-after', 'x-request-id'].flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value]];
    });
    response.writeHead(answer.status, {
      ...(Object.fromEntries(kept) as object),
      ...(answer.status !== 204 && { 'content-length': sent.length }),
    });
    if (fault !== 'cut') return void response.end(sent);
    await new Promise((written) => response.write(half, written));
    response.destroy();
  }
}
