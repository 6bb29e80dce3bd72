import { describe, expect, it } from '@jest/globals';
import { type Answer, Client } from '../support/client.js';
import { expectProblem, type Problem } from '../support/expectations.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { useService } from '../support/use-service.js';
import type { Tokens } from '../support/shop.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const { service, merchant } = useService();
const anyone = new Client(service);

describe('malformed HTTP', () => {
  it.each([
    ['text that is not a request', 'hello\r\n\r\n'],
    ['TLS', Buffer.from('16030100a5010000a10303', 'hex')],
    ['an unknown method', 'FROB / HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['an unknown version', 'GET / HTTP/9.9\r\nhost: x\r\n\r\n'],
    ['invalid bytes in the target', Buffer.from('GET /caf\xe9 HTTP/1.1\r\nhost: x\r\n\r\n', 'latin1')],
    ['a header without a colon', 'GET / HTTP/1.1\r\nhost x\r\n\r\n'],
    ['a NUL in a header', 'GET / HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n'],
    [
      'two Content-Length headers',
      'POST /orders HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
    ],
    [
      'both Content-Length and chunks (request smuggling)',
      'POST /orders HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a Content-Length that is not a number', 'POST /orders HTTP/1.1\r\nhost: x\r\ncontent-length: 1e3\r\n\r\n{}'],
  ])('the service returns 400 malformed_request and closes the connection for %s', async (_, bytes) => {
    expectProblem(await sendBytes(service, bytes), 400, 'malformed_request');
  });

  it('the service returns 431 when the request head is too large', async () => {
    expectProblem(
      await sendBytes(service, aRequest('GET /orders', { 'x-padding': 'x'.repeat(20_000) })),
      431,
      'headers_too_large',
    );
    expectProblem(
      await sendBytes(service, aRequest(`GET /orders?cursor=${'x'.repeat(20_000)}`)),
      431,
      'headers_too_large',
    );
  });

  it('the service returns 400 malformed_request for an invalid chunk', async () => {
    const headers = { 'content-length': undefined, 'transfer-encoding': 'chunked', 'content-type': 'application/json' };
    expectProblem(
      await sendBytes(service, aRequest('POST /auth/login', headers, 'zz\r\n{}\r\n0\r\n\r\n')),
      400,
      'malformed_request',
    );
  });

  it('the service works after malformed requests', async () => {
    await merchant.create();
    expect(service.logged.filter((line) => line.includes('internal_error'))).toEqual([]);
  });
});

describe('unusual HTTP', () => {
  it('the service accepts HTTP/1.0 and an unrequested upgrade', async () => {
    expect((await sendBytes(service, 'GET /health/live HTTP/1.0\r\n\r\n')).status).toBe(200);
    expect(
      (await sendBytes(service, aRequest('GET /health/live', { connection: 'close, upgrade', upgrade: 'h2c' }))).status,
    ).toBe(200);
  });

  it('the service accepts a target in absolute form', async () => {
    const headers = { authorization: `Bearer ${merchant.tokens.access_token}` };
    const answer = await sendBytes(service, aRequest('GET http://shop.example/orders?limit=0', headers));
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body.instance).toBe('/orders');
  });

  it('the service ignores an expectation that it does not know', async () => {
    const answer = await sendBytes(service, aRequest('GET /orders', { expect: '200-ok' }));
    expectProblem(answer, 401, 'missing_token');
  });

  // docs/errors.md names the two answers of Node that are no problems.
  it('Node answers HTTP/1.1 without Host with an empty 400, and closes the connection of CONNECT', async () => {
    const answer = await sendBytes(service, aRequest('GET /orders', { host: undefined }));
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBeNull();
    const connect = await sendBytes(service, 'CONNECT shop.example:443 HTTP/1.1\r\nhost: shop.example:443\r\n\r\n');
    expect(connect.body).toBe('');
  });

  it('the service sends 100-continue when the client asks for it', async () => {
    const body = JSON.stringify({ email: merchant.email, password: merchant.password });
    const answer = await sendBytes(
      service,
      aRequest('POST /auth/login', { expect: '100-continue', 'content-type': 'application/json' }, body),
    );
    expect(answer.status).toBe(100);
    expect(answer.body).toContain('HTTP/1.1 201 Created');
  });
});

describe('request IDs', () => {
  /** Responses of every kind: created, found, empty, refused, not found. */
  const everyKind = (headers: Record<string, string>): Promise<Answer<unknown>[]> =>
    Promise.all([
      merchant.create({}, { headers }).answer,
      merchant.client.get('/orders', { headers }),
      anyone.post<Tokens>('/auth/login', {}, { headers }),
      anyone.get('/nowhere', { headers }),
      anyone.get('/orders', { headers }),
      anyone.send('DELETE', '/orders', { headers }),
      anyone.send('POST', '/orders', { raw: '{', headers }),
      anyone.get('/health/live', { headers }),
      anyone.get('/docs', { headers }),
    ]);

  it('every response and problem contains the request ID of the caller', async () => {
    const answers = await everyKind({ 'x-request-id': 'Order_7.retry-2' });
    for (const { headers } of answers) expect(headers.get('x-request-id')).toBe('Order_7.retry-2');
    const problems = answers.filter(({ status }) => status >= 400);
    expect(problems.map(({ body }) => (body as Problem).request_id)).toEqual(Array(5).fill('Order_7.retry-2'));
  });

  it('each request without a request ID gets a different one', async () => {
    const ids = (await everyKind({})).map(({ headers }) => headers.get('x-request-id'));
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(['', 'x'.repeat(129), 'a b', 'a,b', '"><script>', 'caf\xe9', '{}'])(
    'the request ID is new when the caller sends %j',
    async (offered) => {
      const answer = await sendBytes(service, aRequest('GET /nowhere', { 'x-request-id': offered }));
      expect(answer.headers.get('x-request-id')).toMatch(UUID);
      expectProblem(answer, 404, 'route_not_found');
    },
  );

  it('the request ID is new when the caller sends two', async () => {
    const answer = await sendBytes(service, aRequest('GET /nowhere', { 'x-request-id': 'one\r\nx-request-id: two' }));
    expect(answer.headers.get('x-request-id')).toMatch(UUID);
  });
});

describe('response headers and server errors', () => {
  it.each([
    ['GET', '/orders'],
    ['POST', '/orders'],
    ['GET', '/orders/x'],
    ['GET', '/nowhere'],
    ['DELETE', '/orders'],
    ['POST', '/auth/login'],
    ['GET', '/health/live'],
  ])(
    'the response of %s %s forbids caching and content sniffing, and has no other header for browsers or of the framework',
    async (method, path) => {
      const { headers } = await merchant.client.send(method, path);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(
        [...headers.keys()].filter((name) => /policy|^x-(?!request-id|content-type)|strict|etag/.test(name)),
      ).toEqual([]);
    },
  );

  it('a response to malformed HTTP forbids caching and content sniffing', async () => {
    const { headers } = await sendBytes(service, 'hello\r\n\r\n');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it.each(['/docs', '/docs/swagger-ui.css', '/docs/none'])(
    'the response of GET %s has the security headers of a page',
    async (path) => {
      const { headers } = await anyone.get(path);
      expect(headers.get('content-security-policy')).toContain("default-src 'self'");
      expect(headers.get('x-frame-options')).toBe('SAMEORIGIN');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    },
  );

  it('a server error reveals no details to the caller and logs them', async () => {
    const refusal = "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'nobody expects this'";
    await service.dataSource.query(`CREATE TRIGGER tr_none BEFORE INSERT ON orders FOR EACH ROW ${refusal}`);
    const answer = await merchant.create().answer;
    await service.dataSource.query('DROP TRIGGER tr_none');
    const problem = expectProblem(answer, 500, 'internal_error');
    expect(problem).toEqual({
      type: 'urn:problem:cashback:internal_error',
      title: 'Internal server error',
      status: 500,
      detail: 'Internal server error',
      instance: '/orders',
      code: 'internal_error',
      request_id: expect.stringMatching(UUID),
      retryable: true,
      next_action: 'contact_support',
    });
    const lines = service.logged.filter((line) => line.includes(problem.request_id));
    expect(lines.join('')).toContain('nobody expects this');
  });
});
