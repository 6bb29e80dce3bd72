import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { OrdersService } from '../../src/orders/orders.service.js';
import { Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder } from '../support/factories.js';
import { anchorsOf } from '../support/pages.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import type { Tokens } from '../support/shop.js';

const UNKNOWN_ID = '01890000-0000-7000-8000-000000000000';
const METRICS_TOKEN = 'a-token-for-the-metrics';

/** Ends after the deadline of the request. */
class LateOrders extends OrdersService {
  static ended = 0;

  override async create(...parts: Parameters<OrdersService['create']>): ReturnType<OrdersService['create']> {
    const created = await super.create(...parts);
    await sleep(5000);
    LateOrders.ended += 1;
    return created;
  }
}

const { service, merchant } = useService();
const anyone = new Client(service);

describe('request paths', () => {
  it.each(['/METRICS', '/metrics/', '/Health/live', '/health/live/', '/DOCS', '/Docs-json', '/ORDERS', '/orders/'])(
    '%s returns 404, because paths are case-sensitive and allow no extra trailing slash',
    async (path) => {
      expectProblem(await merchant.client.get(path), 404, 'route_not_found');
    },
  );

  it.each([
    ['/docs', 'text/html'],
    ['/docs/swagger-ui.css', 'text/css'],
    ['/docs/swagger-ui-bundle.js', 'text/javascript'],
    ['/docs/swagger-ui-init.js', 'text/javascript'],
    ['/docs/favicon-32x32.png', 'image/png'],
    ['/docs-json', 'application/json'],
    ['/docs/postman.json', 'application/json'],
    ['/docs/checkout.md', 'text/markdown; charset=utf-8'],
    ['/llms.txt', 'text/plain; charset=utf-8'],
    ['/clients/typescript/examples/shop.ts', 'text/plain; charset=utf-8'],
  ])('GET %s returns %s with an ETag, and 304 without a body for that ETag', async (path, type) => {
    const first = await anyone.get(path);
    expect(first.headers.get('content-type')).toContain(type);
    const etag = first.headers.get('etag')!;
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const answerFor = async (tag: string): Promise<[number, string | null, boolean]> => {
      const { status, headers, body } = await sendBytes(service, aRequest(`GET ${path}`, { 'if-none-match': tag }));
      return [status, headers.get('etag'), (body as unknown) === ''];
    };
    expect(await answerFor(etag)).toEqual([304, etag, true]);
    expect(await answerFor('"another"')).toEqual([200, etag, false]);
    expect((await fetch(`${service.url}${path}`, { method: 'HEAD' })).headers.get('etag')).toBe(etag);
  });

  it.each(['/docs-yaml', '/docs/none.md', '/clients/typescript/src/http.ts'])('%s is no operation', async (path) => {
    expectProblem(await anyone.get(path), 404, 'route_not_found');
  });

  it('every link from /llms.txt, and from the pages that it leads to, leads to a file and a heading of the service', async () => {
    const files = new Set(['/llms.txt']);
    const dead: string[] = [];
    const toHeadings: URL[] = [];
    for (const path of files) {
      const { status, body } = await anyone.get<string>(path);
      if (status !== 200) dead.push(path);
      for (const [, target = ''] of /\.(md|txt)$/.test(path) ? body.matchAll(/\]\((?!https?:)([^)]+)\)/g) : []) {
        const url = new URL(target, `${service.url}${path}`);
        files.add(url.pathname);
        if (url.hash !== '') toHeadings.push(url);
      }
    }
    for (const { pathname, hash } of toHeadings)
      if (!anchorsOf(pathname.slice(1)).includes(decodeURIComponent(hash.slice(1)))) dead.push(pathname + hash);
    expect(dead).toEqual([]);
    expect(toHeadings.length).toBeGreaterThan(20);
    const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));
    expect([...files]).toEqual(expect.arrayContaining(['/docs/postman.json', '/clients/python/checkout.py']));
    expect(pages.filter((file) => !file.startsWith('decisions') && !files.has(`/docs/${file}`))).toEqual([]);
  });

  it.each([
    ['/', '/docs'],
    ['/docs/', '../docs'],
  ])('GET %s redirects to the documentation', async (path, to) => {
    const answer = await sendBytes(service, aRequest(`GET ${path}`));
    expect({ status: answer.status, to: answer.headers.get('location') }).toEqual({ status: 302, to });
  });

  it('the log does not contain paths that match no route', async () => {
    await anyone.get('/customers/529.982.247-25/token/abcdef');
    expect(service.logged.filter((line) => /529\.982|abcdef/.test(line))).toEqual([]);
    expect(service.logged.some((line) => line.includes('"route":"unknown"'))).toBe(true);
  });
});

describe('DOCS=false, BACK_OFFICE=false and METRICS_TOKEN', () => {
  const { service: closed } = useService({ env: { DOCS: 'false', BACK_OFFICE: 'false', METRICS_TOKEN } });

  it.each([
    '/',
    '/docs',
    '/docs-json',
    '/llms.txt',
    '/docs/api.md',
    '/docs/swagger-ui.css',
    '/back-office',
    '/back-office/',
  ])('%s returns 404 with DOCS=false and BACK_OFFICE=false', async (path) => {
    expectProblem(await new Client(closed).get(path), 404, 'route_not_found');
  });

  it('no operation costs a caller without a token more than a path that does not exist', async () => {
    const { paths } = JSON.parse(readFileSync('dist/openapi.json', 'utf8')) as { paths: Record<string, object> };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, UNKNOWN_ID)}`),
    );
    const others = ['GET /health/live', 'GET /health/ready', 'GET /metrics'];
    expect(operations.length).toBeGreaterThan(30);
    const refusal = 'GET /nowhere';
    const fastest = new Map<string, number>();
    // Of many attempts the fastest counts, because the machine can be busy with something else.
    for (let round = 0; round < 40; round++)
      for (const operation of [refusal, ...operations, ...others]) {
        const [method = '', path = ''] = operation.split(' ');
        const startedAt = performance.now();
        await (await fetch(`${closed.url}${path}`, { method })).arrayBuffer();
        fastest.set(operation, Math.min(fastest.get(operation) ?? Infinity, performance.now() - startedAt));
      }
    const most = 5 * fastest.get(refusal)! + 1;
    expect([...fastest].filter(([, milliseconds]) => milliseconds > most)).toEqual([]);
  });

  it('GET /metrics requires the bearer token METRICS_TOKEN', async () => {
    const without = await new Client(closed).get<string>('/metrics');
    expectProblem(without, 401, 'missing_token');
    expect(without.headers.get('www-authenticate')).toBe('Bearer realm="metrics"');
    for (const token of ['', 'wrong', `${METRICS_TOKEN}x`, METRICS_TOKEN.toUpperCase()])
      expectProblem(await new Client(closed, token).get<string>('/metrics'), 401, 'invalid_token');
    expect((await new Client(closed, METRICS_TOKEN).get<string>('/metrics')).status).toBe(200);
  });
});

describe('connections', () => {
  /** Sends bytes and returns all that the server sends until it closes. */
  async function exchange(bytes: Buffer): Promise<string> {
    const { hostname, port } = new URL(service.url);
    let received = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    await new Promise((resolve) => socket.once('close', resolve));
    return received;
  }

  it('a malformed request is logged under the request ID of its response and counted in the metrics', async () => {
    const refusedCount = async (): Promise<number> => {
      const { body } = await anyone.get<string>('/metrics');
      const line = /^http_refused_connections_total\{code="malformed_request"\} (\d+)$/m.exec(body);
      return Number(line?.[1] ?? 0);
    };
    const before = await refusedCount();
    const { body } = await sendBytes(service, 'hello\r\n\r\n');
    expect(await refusedCount()).toBe(before + 1);
    const lines = service.logged.filter((line) => line.includes(body.request_id));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ code: 'malformed_request', status: 400 }),
    ]);
  });

  it('a request whose work ends after the deadline has answered logs no internal error, and can be repeated', async () => {
    const late = await startService({
      override: (builder) => builder.overrideProvider(OrdersService).useClass(LateOrders),
    });
    try {
      const { client } = await aMerchant(late);
      const order = anOrder();
      expectProblem(await client.once.post('/orders', order), 503, 'unavailable');
      while (LateOrders.ended === 0) await sleep(50);
      const again = await client.get(`/orders/by-external-id/${order.external_id}`);
      expect(again.status).toBe(200);
      expect(late.logged.join('')).not.toContain('internal_error');
    } finally {
      await late.stop();
    }
  });

  it('a request that was answered before its body arrived gets no second response for an invalid body', async () => {
    const head = aRequest('POST /orders', {
      'content-type': 'application/json',
      'content-length': undefined,
      'transfer-encoding': 'chunked',
      connection: 'keep-alive',
    });
    const received = await exchange(Buffer.concat([head, Buffer.from('zz\r\n')]));
    expect(received.match(/HTTP\/1\.1 \d+/g)).toHaveLength(1);
  });

  it('an idle connection stays open longer than the idle timeout of a load balancer', async () => {
    const { headers } = await anyone.get('/health/live');
    expect(Number(/timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1])).toBeGreaterThan(60);
  });
});

describe('the files of the back office', () => {
  it.each([
    ['range', 'bytes=999999999-'],
    ['range', 'bytes=5-1'],
    ['range', 'bytes=-0'],
    ['if-match', '"zzz"'],
    ['if-unmodified-since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ])('GET /back-office/ is 200 with %s: %s, as if it were not there', async (name, value) => {
    for (const file of ['', 'index.html'])
      expect((await anyone.get(`/back-office/${file}`, { headers: { [name]: value } })).status).toBe(200);
  });
});

describe('responses and query parameters', () => {
  it('responses with personal data or tokens have Cache-Control: no-store', async () => {
    const order = anOrder();
    const answers = [
      await merchant.create(order).answer,
      await merchant.orders().answer,
      await merchant.wallet(order.document).answer,
      await anyone.post<Tokens>('/auth/login', { email: merchant.email, password: merchant.password }),
      await merchant.create({ ...order, total: '1.00' }).answer,
    ];
    for (const { headers } of answers) expect(headers.get('cache-control')).toBe('no-store');
  });

  it('the error for an invalid query does not mention a body', async () => {
    const body = await merchant.orders('limit=0').refused(400, 'validation_failed');
    expect(body.title).toBe('The request is not valid');
    expect(body.errors).toEqual([{ parameter: 'limit', detail: 'must be a whole number from 1 to 100' }]);
  });

  it.each(['1e1', '0x10', '+5', '-1', ' 5', '5.0', '', '1_0', '٣'])(
    'GET /orders returns 400 for limit=%s because only digits are valid',
    async (limit) => {
      await merchant.orders(`limit=${encodeURIComponent(limit)}`).refused(400, 'validation_failed');
    },
  );

  it.each([
    ['GET', '/orders?stauts=pending', ['stauts']],
    ['GET', '/orders?limit=5&Limit=5&__proto__=x&constructor=y&=', ['Limit', '__proto__', 'constructor', '']],
    ['GET', '/orders/0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10?expand=items', ['expand']],
    ['GET', '/wallets/0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10/entries?limit=5&kind=earn', ['kind']],
    ['GET', '/health/live?verbose', ['verbose']],
    ['POST', '/auth/login?email=a%40b.example', ['email']],
    ['POST', '/auth/logout?all=true', ['all']],
  ])(
    '%s %s returns 400, because the operation does not have the query parameters %j',
    async (method, path, unknown) => {
      const answer = await merchant.client.send(method, path);
      expectProblem(answer, 400, 'validation_failed');
      expect(answer.body.errors).toEqual(
        unknown.map((parameter) => ({
          parameter,
          detail: expect.stringMatching(
            /^is not a query parameter of this operation(; did you mean "(status|limit)"\?)?$/,
          ),
        })),
      );
    },
  );

  it('GET /orders reports unknown and invalid query parameters together', async () => {
    const problem = await merchant.orders('limit=0&offset=20').refused(400, 'validation_failed');
    expect(problem.errors.map(({ parameter }: { parameter: string }) => parameter)).toEqual(['limit', 'offset']);
  });

  it.each([
    ['GET', '/orders?external_id=%ff&limit=5', ['external_id']],
    ['GET', '/orders?limit=%31&cursor=100%&%ed%a0%80=1', ['cursor', '%ed%a0%80']],
  ])('%s %s returns 400, because %j is not percent-encoded UTF-8', async (method, path, undecodable) => {
    const answer = await merchant.client.send(method, path);
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body.errors).toEqual(
      undecodable.map((parameter) => ({ parameter, detail: 'must be percent-encoded UTF-8' })),
    );
  });

  it('POST /orders with a query parameter returns 400 and creates no order', async () => {
    const order = anOrder();
    expectProblem(await merchant.client.post('/orders?dry_run=true', order), 400, 'validation_failed');
    const body = await merchant.orders(`external_id=${order.external_id}`);
    expect(body.data).toEqual([]);
  });

  it('a request with an unknown query parameter and no token returns 401', async () => {
    expectProblem(await anyone.get('/orders?stauts=pending'), 401, 'missing_token');
  });

  it('a question mark without parameters is accepted', async () => {
    await merchant.orders('');
    expect((await merchant.client.get('/health/live?')).status).toBe(200);
  });
});
