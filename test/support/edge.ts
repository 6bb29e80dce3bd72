import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { type Edge, hasHaproxy, startEdge } from '../../tools/clusters/haproxy.mjs';
import { type ProblemCode, PROBLEMS } from '../../src/platform/values/problem.js';
import { type Answer, Client } from './client.js';
import { expectProblem } from './expectations.js';
import { aMerchant, type TestMerchant } from './factories.js';
import { parseAnswer } from './raw.js';
import { describeIf } from './requirements.js';
import { type Service, startService } from './service.js';
import { startedLater } from './use-service.js';

/** Only Linux has all addresses of 127.0.0.0/8, from which attackers and others connect. */
const hasEdge = process.platform === 'linux' && (await hasHaproxy());
export const describeWithEdge = describeIf(hasEdge, 'The edge, because HAProxy is missing');

/** The service trusts the address that the edge, on the same machine, reports. */
export const BEHIND_EDGE = { TRUST_PROXY: 'loopback' };

/** Starts a service behind the edge before the tests of the calling file or `describe`, and stops both after them. */
export function useEdge({
  env = {},
  variables = {},
}: { env?: Record<string, string>; variables?: Record<string, string> } = {}): {
  service: Service;
  edge: Edge;
  /** Its client sends requests through the edge. */
  merchant: TestMerchant;
} {
  const service = startedLater<Service>('the service');
  const edge = startedLater<Edge>('the edge');
  const merchant = startedLater<TestMerchant>('the merchant');
  beforeAll(async () => {
    const { url } = service.set(await startService({ env: { ...BEHIND_EDGE, ...env } }));
    edge.set(await startEdge([url], variables));
    const created = merchant.set(await aMerchant(service.object));
    created.client = new Client(edge.object, created.tokens.access_token);
  });
  afterAll(async () => {
    await edge.get()?.stop();
    await service.get()?.stop();
  });
  return { service: service.object, edge: edge.object, merchant: merchant.object };
}

/** An instance whose answers the test decides. */
export interface Stub {
  url: string;
  /** What the health checks of the edge learn. */
  isReady: boolean;
  stop(): Promise<void>;
}

/** Starts a stub that is ready. @param answer gets every request but those of the health checks */
export async function startStub(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Stub> {
  const server = createServer((request, response) => {
    if (request.url === '/health/ready') response.writeHead(stub.isReady ? 200 : 503).end();
    else answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stub: Stub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isReady: true,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return stub;
}

/** A connection that sends whatever bytes it is told to. */
export class RawConnection {
  received = '';
  readonly socket: Socket;
  readonly closed: Promise<unknown>;

  /** @param from the client's own address in 127.0.0.0/8 */
  constructor({ url }: { url: string }, bytes: string | Buffer = '', from = '127.0.0.1') {
    const { hostname, port } = new URL(url);
    this.socket = connect({ port: Number(port), host: hostname, localAddress: from }, () => this.socket.write(bytes));
    this.socket.on('data', (chunk: Buffer) => (this.received += chunk.toString('latin1')));
    // The edge may close the connection while bytes are in transit.
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
  }

  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  }

  /** Waits until there are this many complete heads of responses, or the connection is closed. */
  async answers(count: number, seconds = 20): Promise<number[]> {
    for (const deadline = Date.now() + seconds * 1000; Date.now() < deadline; await sleep(20)) {
      const complete = this.received.match(/\r\n\r\n/g)?.length ?? 0;
      if (this.socket.destroyed || (this.statuses.length >= count && complete >= count)) break;
    }
    return this.statuses;
  }

  /** The only response, read for as long as the edge needs to send it. */
  async answer(): Promise<Answer> {
    await this.answers(1);
    await sleep(50);
    return parseAnswer(this.received);
  }
}

/** Expects a problem with all members as docs/errors.md and the catalog of the service have them. */
export function expectEdgeProblem(answer: Answer<unknown>, code: ProblemCode, instance: string): void {
  const { status, title, next_action, retryable } = PROBLEMS[code];
  expectProblem(answer, status, code);
  expect(answer.body).toEqual({
    ...{ code, status, title, next_action, retryable },
    type: `urn:problem:cashback:${code}`,
    detail: expect.any(String),
    instance,
    request_id: expect.stringMatching(/^[A-Za-z0-9._-]{1,128}$/),
  });
  expect(answer.headers.get('cache-control')).toBe('no-store');
}
