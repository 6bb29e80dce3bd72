import { setInterval, setTimeout as setTimer } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Edge, startEdge } from '../../tools/clusters/haproxy.mjs';
import { describeWithEdge, expectEdgeProblem, RawConnection, startStub, type Stub, useEdge } from '../support/edge.js';
import { aRequest } from '../support/raw.js';

/** The time limits of the edge and of the service, and what a slow machine may need in addition. */
const AT_MOST_MS = 25_000;
/** More than the buffers of two sockets. */
const LARGE = 32 * 1024 * 1024;

describeWithEdge('slow and stalled clients', () => {
  const { edge, merchant } = useEdge();
  let stub: Stub;
  let edgeOfStub: Edge;
  /** Begins before the other tests, because the edge waits for half a minute. */
  let unread: RawConnection;
  let unreadSince: number;

  beforeAll(async () => {
    stub = await startStub((_request, response) => void response.end(Buffer.alloc(LARGE)));
    edgeOfStub = await startEdge([stub.url]);
    unread = new RawConnection(edgeOfStub, aRequest('GET /orders'));
    unread.socket.pause();
    unreadSince = Date.now();
  });
  afterAll(async () => {
    await edgeOfStub?.stop();
    await stub?.stop();
  });

  /** Sends a beginning, and then the same bytes again and again. @returns the time until the edge gives up */
  async function slowly(beginning: string | Buffer, drop = ''): Promise<{ connection: RawConnection; ms: number }> {
    const startedAt = Date.now();
    const connection = new RawConnection(edge, beginning);
    const dripping = setInterval(() => connection.socket.writable && connection.socket.write(drop), 300);
    const giveUp = setTimer(() => connection.socket.destroy(), AT_MOST_MS);
    await connection.answers(1, AT_MOST_MS / 1000);
    clearInterval(dripping);
    clearTimeout(giveUp);
    connection.socket.destroy();
    return { connection, ms: Date.now() - startedAt };
  }

  const upload = (bytes: number, sent: number): Buffer => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${merchant.tokens.access_token}` };
    return aRequest('POST /orders', { ...headers, 'content-length': String(bytes) }, ' '.repeat(sent));
  };

  it('heads and bodies that stall or drip are answered with 408 after ten seconds, and other requests are served', async () => {
    const head = 'GET /orders HTTP/1.1\r\nhost: x\r\n';
    const started = [
      slowly(head),
      slowly(head, 'x: y\r\n'),
      slowly(upload(1000, 1)),
      slowly(upload(1000, 1), ' '),
      slowly(upload(100_000, 50_000)),
      slowly(upload(100_000, 50_000), ' '),
    ];
    // While they are slow, others are served.
    for (let count = 0; count < 20; count++) await merchant.create();
    const ended = await Promise.all(started);
    // Large bodies stream, so the service is the one that waits for them.
    for (const { connection } of ended) expect(connection.statuses).toEqual([408]);
    for (const { ms } of ended) expect(ms).toBeLessThan(AT_MOST_MS);
    for (const { connection } of ended.slice(2, 4))
      expectEdgeProblem(await connection.answer(), 'request_timeout', '/orders');
  });

  it('a connection without requests stays usable for longer than a request may take', async () => {
    const connection = new RawConnection(edge, aRequest('GET /health/live', { connection: 'keep-alive' }));
    expect(await connection.answers(1)).toEqual([200]);
    await sleep(12_000);
    connection.socket.write(aRequest('GET /health/live'));
    expect(await connection.answers(2)).toEqual([200, 200]);
  });

  it('a client that does not read its response is disconnected after half a minute', async () => {
    await sleep(unreadSince + 35_000 - Date.now());
    unread.socket.resume();
    await unread.closed;
    expect(unread.received.length).toBeLessThan(LARGE);
  });
});
