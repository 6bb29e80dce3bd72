import { expect, it } from '@jest/globals';
import { Client } from '../support/client.js';
import { describeWithEdge, expectEdgeProblem, RawConnection, useEdge } from '../support/edge.js';
import { expectProblem } from '../support/expectations.js';
import { anOrder } from '../support/factories.js';
import { aRequest } from '../support/raw.js';

const MALFORMED = 'POST /orders HTTP/1.1\r\nhost: x\r\n';

describeWithEdge('requests through the edge', () => {
  const { edge, merchant } = useEdge();
  const send = (bytes: string | Buffer): RawConnection => new RawConnection(edge, bytes);

  it.each([
    ['text that is not a request', 'hello\r\n\r\n'],
    ['TLS', Buffer.from('16030100a5010000a10303', 'hex')],
    ['HTTP/0.9', 'GET /health/live\r\n\r\n'],
    ['invalid bytes in the target', Buffer.from('GET /caf\xe9 HTTP/1.1\r\nhost: x\r\n\r\n', 'latin1')],
    ['a header without a colon', `${MALFORMED}hello\r\n\r\n`],
    ['a blank before the colon', 'GET /health/live HTTP/1.1\r\nhost : x\r\n\r\n'],
    ['two hosts', 'GET /health/live HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n'],
    ['two lengths', `${MALFORMED}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
    ['a length that is not a number', `${MALFORMED}content-length: 1e3\r\n\r\n{}`],
    ['a length of 20 digits', `${MALFORMED}content-length: 99999999999999999999\r\n\r\n{}`],
    ['a chunk without a length', `${MALFORMED}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ['an invalid URL as the target', 'GET http://[::1/orders HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown method', 'FROB / HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['no host', 'GET /orders HTTP/1.1\r\n\r\n'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n'],
  ])('%s is answered with 400 or not at all, and later requests are served', async (_, bytes) => {
    const connection = send(bytes);
    const statuses = await connection.answers(1);
    expect(statuses.filter((status) => status !== 400)).toEqual([]);
    connection.socket.destroy();
    await merchant.create();
  });

  it('a request inside the body of a request that has a length and chunks is not served', async () => {
    const inside = 'GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n';
    const connection = send(
      `${MALFORMED}content-length: ${5 + inside.length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inside}`,
    );
    await connection.closed;
    expect(connection.statuses).toHaveLength(1);
    expect(connection.statuses[0]).toBeGreaterThanOrEqual(400);
  });

  it('CONNECT returns 400', async () => {
    const answer = await send('CONNECT shop.example:443 HTTP/1.1\r\nhost: shop.example:443\r\n\r\n').answer();
    expectEdgeProblem(answer, 'malformed_request', '');
  });

  it('HTTP/1.1 without Host is the problem malformed_request', async () => {
    expectEdgeProblem(await send('GET /orders HTTP/1.1\r\n\r\n').answer(), 'malformed_request', '/orders');
  });

  it('an expectation other than 100-continue is ignored', async () => {
    expectProblem(await send(aRequest('GET /orders', { expect: '200-ok' })).answer(), 401, 'missing_token');
  });

  it('HTTP/1.0, an upgrade that is not granted, TRACE, and a target in absolute form are served', async () => {
    expect((await send('GET /health/live HTTP/1.0\r\n\r\n').answer()).status).toBe(200);
    const upgrade = aRequest('GET /health/live', { connection: 'upgrade', upgrade: 'h2c' });
    expect((await send(upgrade).answer()).status).toBe(200);
    expectProblem(await send(aRequest('TRACE /orders')).answer(), 405, 'method_not_allowed');
    expectProblem(await send(aRequest('GET http://localhost/orders')).answer(), 401, 'missing_token');
  });

  it('heads of more than 16 KiB return 431, and of more than 28 KiB return 431 or 400', async () => {
    const head = (bytes: number): Buffer => aRequest('GET /orders', { 'x-padding': 'x'.repeat(bytes) });
    expectProblem(await send(head(20_000)).answer(), 431, 'headers_too_large');
    expect([400, 431]).toContain((await send(head(40_000)).answer()).status);
  });

  it('the edge sends 100-continue when the client asks for it', async () => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${merchant.tokens.access_token}` };
    const request = aRequest('POST /orders', { ...headers, expect: '100-continue' }, JSON.stringify(anOrder()));
    const body = request.indexOf('\r\n\r\n') + 4;
    const connection = send(request.subarray(0, body));
    expect(await connection.answers(1)).toEqual([100]);
    connection.socket.write(request.subarray(body));
    expect(await connection.answers(2)).toEqual([100, 201]);
  });

  it.each(['/metrics', '/health/ready', '/metrics?x=1', 'http://localhost/metrics', 'http://localhost/health/ready'])(
    'the edge answers GET %s with the 404 of a path that does not exist',
    async (target) => {
      const answer = await new RawConnection(edge, aRequest(`GET ${target}`)).answer();
      const { pathname } = new URL(target, 'http://localhost');
      expectEdgeProblem(answer, 'route_not_found', pathname);
    },
  );

  it.each(['//metrics', '/metrics/', '/%6detrics', '/METRICS', '/./metrics', '/health//ready'])(
    'no spelling reaches the metrics or the readiness through the edge: %s is no operation either',
    async (target) => {
      const { status, body } = await new RawConnection(edge, aRequest(`GET ${target}`)).answer();
      expect({ status, code: body.code }).toEqual({ status: 404, code: 'route_not_found' });
    },
  );

  it('the documentation and /health/live are served', async () => {
    const anyone = new Client(edge);
    expect((await anyone.get('/docs')).body).toContain('<title>');
    expect((await anyone.get('/health/live')).body).toEqual({ status: 'ok' });
  });
});
