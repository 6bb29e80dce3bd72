import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Cashback,
  CashbackError,
  type CashbackOptions,
  createSandboxMerchant,
  type TokenSet,
} from '../../clients/typescript/src/index.js';
import { all, anOrderOf, errorOf, OF_OTHERS, type Promised, promiseOf } from '../support/typescript-client.js';

const MIB = 1024 * 1024;
const CREDENTIALS = { email: 'a@shop.example', password: 'a-secret-password' };
const TOKENS = { access_token: 'a-secret-token', access_token_expire_at: '2999-01-01T00:00:00.000Z' };
const PROBLEM = { code: 'not_found', detail: 'no order', retryable: false, next_action: 'fix_request' };

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Answers as it is told, and knows the requests. */
class Stub {
  readonly requests: string[] = [];
  handle: Handler = (_, response) => response.end();
  readonly #server = createServer((request, response) => {
    this.requests.push(`${request.method} ${request.url}`);
    this.handle(request, response);
  });

  async start(): Promise<this> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  answer(status: number, body: string | Buffer, headers: Record<string, string> = {}): void {
    this.handle = (_, response) => response.writeHead(status, headers).end(body);
  }

  answerJson(status: number, body: unknown, type = 'application/json'): void {
    this.answer(status, JSON.stringify(body), { 'content-type': type });
  }

  /** Sends bytes that are all of the response, as they are. */
  answerRaw(...parts: (string | Buffer)[]): void {
    this.handle = (_, { socket }) => socket!.end(Buffer.concat(parts.map((part) => Buffer.from(part))));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }
}

const tokenStoreOf = (tokens: TokenSet | null) => ({
  current: tokens,
  get: function () {
    return Promise.resolve(this.current);
  },
  set: function (next: TokenSet | null) {
    this.current = next;
    return Promise.resolve();
  },
});

describe('what the TypeScript client takes for an answer', () => {
  const service = new Stub();
  const other = new Stub();

  const clientOf = (options: Partial<CashbackOptions> = {}): Cashback =>
    new Cashback({ baseUrl: service.url, tokenStore: tokenStoreOf({ ...TOKENS, refresh_token: 'r' }), ...options });
  /** Has no session yet. */
  const worker = (): Cashback => clientOf({ ...CREDENTIALS, tokenStore: tokenStoreOf(null) });
  /** Has to refresh. */
  const early = (): Cashback => {
    const expired = {
      ...TOKENS,
      access_token_expire_at: '1999-01-01T00:00:00.000Z',
      refresh_token: 'a-secret-refresh',
    };
    return clientOf({ tokenStore: tokenStoreOf(expired) });
  };

  /** One of each kind of request. */
  const KINDS: Record<string, () => Promise<unknown>> = {
    'a login': () => clientOf().login(CREDENTIALS),
    'a login on the way': () => worker().orders.create(anOrderOf()),
    'a refresh': () => early().policy.get(),
    'a reading': () => clientOf().orders.get('x'),
    'a creation': () => clientOf().orders.create(anOrderOf()),
    'a change': () => clientOf().orders.hold('x', { amount: '1.00' }),
    'a deletion': () => clientOf().webhookEndpoints.delete('x'),
    'a list': () => all(clientOf().orders.list()),
    'a search': () => all(clientOf().orders.search({ document: '52998224725' })),
    'a feed': () => all(clientOf().events.pages({ after: 0 })),
    'a CSV': () => clientOf().reports.csv('outstanding', {}),
    'a CSV of a list': () => all(clientOf().orders.csv()),
    'a change of the password': () =>
      clientOf().changePassword({ current_password: 'a', new_password: 'a-secret-password' }),
    'a logout': () => clientOf().logout(),
    'a merchant of a sandbox': () => createSandboxMerchant({ baseUrl: service.url, name: 'Loja' }),
  };

  /** Calls each operation of the client; of a list, it reads all pages. */
  function* callsOfAll(): Generator<[name: string, call: () => Promise<unknown>]> {
    const cashback = clientOf();
    for (const [resource, methods] of Object.entries(cashback))
      for (const [name, method] of Object.entries(methods as Record<string, (...args: unknown[]) => unknown>))
        if (!['me', 'changePassword'].includes(resource) && !OF_OTHERS.has(name))
          yield [
            `${resource}.${name}`,
            async () => {
              const given = name !== 'csv' ? ['id-1', 'id-2', {}, {}] : resource === 'reports' ? ['ledger', {}] : [{}];
              const answer = await method(...given);
              if (typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer)
                return all(answer as AsyncIterable<unknown>);
              return answer;
            },
          ];
    yield ['me', () => cashback.me()];
    yield ['login', () => cashback.login(CREDENTIALS)];
    yield ['changePassword', () => cashback.changePassword({ current_password: 'a', new_password: 'b' })];
    yield ['createSandboxMerchant', () => createSandboxMerchant({ baseUrl: service.url, name: 'Loja' })];
  }

  beforeAll(async () => {
    await Promise.all([service.start(), other.start()]);
  });
  beforeEach(() => {
    service.requests.length = 0;
    other.requests.length = 0;
  });
  afterAll(() => Promise.all([service.stop(), other.stop()]));

  describe.each([301, 302, 303, 307, 308])('a redirect with %d', (status) => {
    it.each(Object.keys(KINDS))('is not followed by %s', async (kind) => {
      other.answerJson(200, { data: [], next_cursor: null });
      const location = `${other.url.replace('//', '//user:a-secret-password@')}/orders?token=a-secret-token`;
      service.answer(status, '{}', { location, 'content-type': 'application/json' });
      const error = await errorOf(KINDS[kind]!());
      expect(error).toMatchObject({ code: 'unexpected_response', status, retryable: false });
      expect(error.message).toContain(`a redirect to ${other.url}, which is not followed`);
      expect(error.message).not.toContain('secret');
      expect(other.requests).toEqual([]);
      expect(service.requests).toHaveLength(1);
    });
  });

  it.each([
    ['its own host', '/elsewhere', () => service.url],
    ['https', 'https://cashback.example/orders', () => 'https://cashback.example'],
    ['no host', 'http://', () => 'another address'],
    ['a script', 'javascript:alert(1)', () => 'null'],
  ])('a redirect to %s is not followed', async (_, location, origin) => {
    service.answer(302, '', { location });
    const error = await errorOf(clientOf().orders.create(anOrderOf()));
    expect(error.message).toContain(`a redirect to ${origin()}, which`);
    expect(service.requests).toHaveLength(1);
  });

  it('each operation takes the status and the members that are promised', async () => {
    service.handle = (request, response) => {
      const isCsv = request.headers.accept === 'text/csv';
      const { status, like } = promiseOf(request);
      const type = isCsv ? 'text/csv; charset=utf-8' : 'application/json';
      response.writeHead(status, like && { 'content-type': type });
      response.end(isCsv ? 'a' : like && JSON.stringify({ ...like, done: true }));
    };
    for (const [, call] of callsOfAll()) await call();
    expect(service.requests.length).toBeGreaterThan(60);
  });

  const nulls = (like: object = {}): object => Object.fromEntries(Object.keys(like).map((name) => [name, null]));
  const json = (body: unknown): string => JSON.stringify(body);

  it.each<[string, (promised: Promised) => [status: number, type: string, body: string]]>([
    ['null', ({ status }) => [status, 'application/json', 'null']],
    ['an array', ({ status }) => [status, 'application/json', '[]']],
    ['a text', ({ status }) => [status, 'application/json', '"x"']],
    ['a number', ({ status }) => [status, 'application/json', '7']],
    ['an object of another kind', ({ status }) => [status, 'application/json', '{"ok":true}']],
    ['members that are null', ({ status, like }) => [status, 'application/json', json(nulls(like))]],
    ['members of a member', ({ status, like }) => [status, 'application/json', json({ result: { ...like } })]],
    ['a problem', ({ status }) => [status, 'application/problem+json', json(PROBLEM)]],
    ['JSON labelled as text', ({ status, like }) => [status, 'text/plain', json({ ...like })]],
    ['a page for people', ({ status }) => [status, 'text/html', '<h1>Blocked</h1>']],
    ['the status 202', ({ like }) => [202, 'application/json', json({ ...like, done: true })]],
    ['the status 203', ({ like }) => [203, 'application/json', json({ ...like, done: true })]],
    ['the status 206', ({ like }) => [206, 'application/json', json({ ...like, done: true })]],
    ['no content', () => [204, '', '']],
    ['no body', ({ status }) => [status, '', '']],
  ])('%s is an answer of no operation, and the request is not repeated', async (_, answer) => {
    service.handle = (request, response) => {
      const promised = promiseOf(request);
      const [status, type, body] = answer(promised);
      // Where nothing is promised, anything else is wrong: a 204 has no body in HTTP.
      const sent = promised.status === 204 && status === 204 ? 200 : status;
      response.writeHead(sent, type === '' ? {} : { 'content-type': type }).end(sent === 204 ? '' : body);
    };
    const wrong: string[] = [];
    for (const [name, call] of callsOfAll()) {
      const before = service.requests.length;
      const error = await call().catch((reason: unknown) => reason);
      const isError = error instanceof CashbackError && error.code === 'unexpected_response' && !error.retryable;
      if (!isError || service.requests.length !== before + 1) wrong.push(name);
    }
    expect(wrong).toEqual([]);
  });

  it.each([
    ['a token set without a refresh token', TOKENS],
    ['a token set of nulls', nulls({ ...TOKENS, refresh_token: '' })],
    ['a token that is a number', { ...TOKENS, access_token: 1, refresh_token: 'r' }],
  ])('%s is not kept', async (_, tokens) => {
    service.answerJson(201, tokens);
    const tokenStore = tokenStoreOf(null);
    const error = await errorOf(clientOf({ tokenStore }).login(CREDENTIALS));
    expect(error).toMatchObject({ code: 'unexpected_response', status: 201 });
    expect(tokenStore.current).toBeNull();
  });

  it('a deletion that was not answered by the service is not done, whatever a proxy says to its second try', async () => {
    const answers = [502, 404];
    service.handle = (_, response) => response.writeHead(answers.shift()!).end('<h1>Oops</h1>');
    const error = await errorOf(clientOf().webhookEndpoints.delete('x'));
    expect(error).toMatchObject({ code: 'unexpected_response', status: 404 });
  });

  it.each<[string, number[], string]>([
    ['was not done, and the endpoint is unknown', [429, 404], 'not_found'],
    ['went to a service without the operation', [503, 404], 'route_not_found'],
  ])('a deletion that %s is not done', async (_, statuses, code) => {
    const answers = [...statuses];
    service.handle = (_request, response) => {
      const status = answers.shift()!;
      const problem = { ...PROBLEM, status, code: status === 404 ? code : 'unavailable', retryable: status !== 404 };
      response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
    };
    expect(await errorOf(clientOf().webhookEndpoints.delete('x'))).toMatchObject({ code, status: 404 });
  });

  it.each([null, 'x', 7, {}, [null], [7, 'x', { detail: 'must be shorter', pointer: '/name' }]])(
    'a refusal whose errors are %j is that refusal, and not sent again',
    async (errors) => {
      service.answerJson(
        422,
        { ...PROBLEM, status: 422, code: 'validation_failed', errors },
        'application/problem+json',
      );
      const error = await errorOf(clientOf().orders.get('x'));
      expect(error).toMatchObject({ code: 'validation_failed', status: 422, retryable: false });
      expect(error.errors).toEqual(Array.isArray(errors) ? errors.filter((one) => typeof one === 'object' && one) : []);
      expect(service.requests).toHaveLength(1);
    },
  );

  it('pages that lead to earlier ones end the list, and a feed that goes back ends', async () => {
    const next: Record<string, string> = { first: 'a', a: 'b', b: 'c', c: 'a' };
    service.handle = (request, response) => {
      const cursor = new URL(request.url!, service.url).searchParams.get('cursor') ?? 'first';
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: [], next_cursor: next[cursor] }));
    };
    expect(await errorOf(all(clientOf().orders.list()))).toMatchObject({ code: 'unexpected_response' });
    expect(service.requests).toHaveLength(4);
    let sent = 0;
    service.handle = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: [], has_more: true, next_after: [5, 3, 5][sent++ % 3] }));
    };
    expect(await errorOf(all(clientOf().events.list({ after: 0 })))).toMatchObject({ code: 'unexpected_response' });
    expect(sent).toBe(3);
  });

  it.each([500, 503])(
    'the status %d decides, whatever the body says, and the request is sent again',
    async (status) => {
      const problem = { ...PROBLEM, code: 'internal_error', status: 200, retryable: true, next_action: 'retry' };
      service.answerJson(status, problem, 'application/problem+json');
      const error = await errorOf(clientOf().orders.get('x'));
      expect(error).toMatchObject({ code: 'internal_error', status, retryable: true });
      expect(service.requests).toHaveLength(4);
    },
  );

  it('what the service calls not retryable is not sent again, whatever its status', async () => {
    service.answerJson(503, { ...PROBLEM, code: 'report_too_large', status: 503 }, 'application/problem+json');
    const error = await errorOf(clientOf().reports.outstanding({}));
    expect(error).toMatchObject({ code: 'report_too_large', status: 503, retryable: false });
    expect(service.requests).toHaveLength(1);
  });

  it('a page that leads to itself ends the list, and its elements are read once', async () => {
    service.answerJson(200, { data: [{ id: 'a' }], next_cursor: 'same' });
    const read: unknown[] = [];
    const reading = async () => {
      for await (const order of clientOf().orders.list()) read.push(order);
    };
    expect(await errorOf(reading())).toMatchObject({ code: 'unexpected_response' });
    expect(read).toHaveLength(1);
    service.requests.length = 0;
    service.answerJson(200, { data: [], has_more: true, next_after: 5 });
    expect(await errorOf(all(clientOf().events.list({ after: 5 })))).toMatchObject({ code: 'unexpected_response' });
    expect(service.requests).toHaveLength(2);
  });

  it.each(['', '.', '..', undefined, null, '\ud800'])('%j is no ID, and nothing is requested', async (id) => {
    const client = clientOf();
    const calls = [
      client.orders.get(id as string),
      client.orders.byExternalId(id as string),
      client.refunds.get('x', id as string),
      all(client.orders.timeline(id as string)),
      client.webhookEndpoints.delete(id as string),
    ];
    for (const call of calls)
      expect(await errorOf(call)).toMatchObject({ code: 'validation_failed', status: 400, retryable: false });
    expect(service.requests).toEqual([]);
  });

  describe('a server that answers each request 401', () => {
    const count = (): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (const path of service.requests.map((line) => line.split(' ')[1]!)) counts[path] = (counts[path] ?? 0) + 1;
      return counts;
    };

    it.each(['invalid_token', 'missing_token', 'invalid_refresh_token', 'invalid_credentials', 'blocked'])(
      'with the code %s gets no login or refresh twice',
      async (code) => {
        service.answerJson(401, { ...PROBLEM, code, status: 401 }, 'application/problem+json');
        expect(await errorOf(clientOf().login(CREDENTIALS))).toMatchObject({ status: 401, code });
        expect(await errorOf(worker().policy.get())).toMatchObject({ status: 401, code });
        expect(count()).toEqual({ '/auth/login': 2 });
        service.requests.length = 0;
        expect(await errorOf(early().policy.get())).toMatchObject({ status: 401, code });
        expect(count()).toEqual({ '/auth/refresh': 1 });
        service.requests.length = 0;
        const tokenStore = tokenStoreOf({ ...TOKENS, refresh_token: 'r' });
        expect(await errorOf(clientOf({ ...CREDENTIALS, tokenStore }).policy.get())).toMatchObject({
          status: 401,
          code,
        });
        const again = { '/auth/refresh': 1, '/auth/login': 1 };
        expect(count()).toEqual({ '/policy': 1, ...(code === 'invalid_token' && again) });
      },
    );

    it('but logins gets one login for a request, and the request is sent once with its token', async () => {
      service.handle = ({ url }, response) => {
        const isLogin = url === '/auth/login';
        const body = isLogin ? { ...TOKENS, refresh_token: 'r' } : { ...PROBLEM, code: 'invalid_token', status: 401 };
        response.writeHead(isLogin ? 201 : 401, { 'content-type': 'application/json' }).end(json(body));
      };
      expect(await errorOf(worker().policy.get())).toMatchObject({ status: 401, code: 'invalid_token' });
      expect(count()).toEqual({ '/auth/login': 1, '/policy': 1 });
      service.requests.length = 0;
      expect(await errorOf(clientOf(CREDENTIALS).policy.get())).toMatchObject({ status: 401, code: 'invalid_token' });
      expect(count()).toEqual({ '/policy': 2, '/auth/refresh': 1, '/auth/login': 1 });
    });

    it('with a page, as a firewall does, keeps the session', async () => {
      service.answer(401, '<h1>Who are you?</h1>', { 'content-type': 'text/html' });
      const tokens = { ...TOKENS, access_token_expire_at: '1999-01-01T00:00:00.000Z', refresh_token: 'r' };
      const tokenStore = tokenStoreOf(tokens);
      expect(await errorOf(clientOf({ tokenStore }).policy.get())).toMatchObject({ code: 'unexpected_response' });
      expect(tokenStore.current).toBe(tokens);
      expect(count()).toEqual({ '/auth/refresh': 1 });
    });
  });

  describe('a body without an end', () => {
    let sent: number;
    const chunk = Buffer.alloc(MIB, ' ');
    const endless =
      (status: number, headers: Record<string, string>, part = chunk): Handler =>
      (_, response) => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        const write = (): void => {
          while (!response.destroyed) {
            sent += part.length;
            if (!response.write(part)) return void response.once('drain', write);
          }
        };
        write();
      };
    beforeEach(() => {
      sent = 0;
    });

    it.each<[string, number, Record<string, string>]>([
      ['200', 200, {}],
      ['200 of CSV', 200, { 'content-type': 'text/csv' }],
      ['200 whose length is a lie', 200, { 'content-length': String(2 ** 40) }],
      ['400', 400, {}],
      ['500', 500, {}],
    ])('of a %s is read up to 64 MiB, once', async (_, status, headers) => {
      service.handle = endless(status, headers);
      const error = await errorOf(clientOf().orders.get('x'));
      expect(error).toMatchObject({ code: 'unexpected_response', status, retryable: false });
      expect(service.requests).toHaveLength(1);
      expect(sent).toBeGreaterThan(64 * MIB);
      expect(sent).toBeLessThan(80 * MIB);
    });

    it('of a redirect is not read', async () => {
      service.handle = endless(302, { location: other.url });
      expect(await errorOf(clientOf().orders.get('x'))).toMatchObject({ code: 'unexpected_response', status: 302 });
      expect(sent).toBeLessThan(16 * MIB);
    });

    it('that is compressed is bounded by what it contains', async () => {
      const bomb = gzipSync(Buffer.alloc(200 * MIB, ' '));
      service.answer(200, bomb, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      expect(await errorOf(clientOf().orders.get('x'))).toMatchObject({ code: 'unexpected_response', status: 200 });
    });

    it('but with an end within the bound is an answer', async () => {
      const note = 'x'.repeat(20 * MIB);
      service.answerJson(200, { id: 'a', status: 'pending', version: 1, metadata: { note } });
      expect((await clientOf().orders.get('a')).metadata).toEqual({ note });
    });
  });

  it('a list as CSV is all of its files, and one that leads to itself is no answer', async () => {
    const links = ['<?store=A%26B&csv=pt-BR&cursor=x>; rel="next"', ''];
    service.handle = ({ url }, response) => {
      const headers = { 'content-type': 'text/csv', link: links.shift() ?? '' };
      response.writeHead(200, headers).end(url);
    };
    expect(await all(clientOf().orders.csv({ store: 'A&B' }, 'pt-BR'))).toEqual([
      '/orders?store=A%26B&csv=pt-BR',
      '/orders?store=A%26B&csv=pt-BR&cursor=x',
    ]);
    service.answer(200, 'a', { 'content-type': 'text/csv', link: '<?cursor=x>; rel="next"' });
    expect(await errorOf(all(clientOf().grants.csv()))).toMatchObject({ code: 'unexpected_response' });
  });

  it('a CSV has its byte order mark, and JSON is read without it', async () => {
    service.answer(200, '\ufeffloja;valor', { 'content-type': 'text/csv; charset=utf-8' });
    expect(await clientOf().reports.csv('outstanding', {})).toBe('\ufeffloja;valor');
    service.answer(200, `\ufeff${json({ id: 'a', status: 'pending', version: 1 })}`, {
      'content-type': 'application/json',
    });
    expect(await clientOf().orders.get('a')).toMatchObject({ version: 1 });
  });

  const HTTP = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
  const ORDER = json({ id: 'a', status: 'pending', version: 1 });
  it.each<[string, (string | Buffer)[]]>([
    ['300 without a Location', ['HTTP/1.1 300 Multiple Choices\r\nContent-Length: 0\r\n\r\n']],
    ['302 without a Location', ['HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n']],
    ['302 with a Location of spaces', ['HTTP/1.1 302 Found\r\nLocation:   \r\nContent-Length: 0\r\n\r\n']],
    ['304', ['HTTP/1.1 304 Not Modified\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n']],
    ['401 without a body', ['HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n']],
    ['407', ['HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n']],
    ['451 with a redirect', [`HTTP/1.1 451 No\r\nLocation: /\r\nContent-Length: 0\r\n\r\n`]],
    ['599', ['HTTP/1.1 599 What\r\nContent-Length: 0\r\n\r\n']],
    ['a status of two digits', ['HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n']],
    ['HTTP/0.9', [ORDER]],
    ['nothing', []],
    ['only 100 Continue', ['HTTP/1.1 100 Continue\r\n\r\n']],
    ['101 Switching Protocols', ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n']],
    ['a huge header', [`${HTTP}X-Huge: ${'x'.repeat(100_000)}\r\n\r\n${ORDER}`]],
    ['two lengths that differ', [`${HTTP}Content-Length: 5\r\nContent-Length: 6\r\n\r\n${ORDER}`]],
    ['a chunk that is cut', [`${HTTP}Transfer-Encoding: chunked\r\n\r\nff\r\n${ORDER}`]],
    ['JSON that is cut', [`${HTTP}Connection: close\r\n\r\n`, ORDER.slice(0, -4)]],
    ['two JSON texts', [`${HTTP}Connection: close\r\n\r\n`, ORDER, ORDER]],
    ['gzip that is garbage', [`${HTTP}Content-Encoding: gzip\r\nContent-Length: ${ORDER.length}\r\n\r\n`, ORDER]],
    ['gzip without a label', [`${HTTP}Connection: close\r\n\r\n`, gzipSync(ORDER)]],
    ['UTF-16', [`${HTTP}Connection: close\r\n\r\n`, Buffer.from(ORDER, 'utf16le')]],
    [
      'problem whose errors are a text',
      [`HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\n\r\n`, json({ ...PROBLEM, errors: 'x' })],
    ],
    [
      'problem that is a prototype',
      [`HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\n\r\n`, `{"__proto__":${json(PROBLEM)}}`],
    ],
    [
      'problem with a prototype',
      [
        `HTTP/1.1 400 Bad\r\nContent-Type: application/json\r\n\r\n`,
        json(PROBLEM).replace('{', '{"__proto__":{"then":1},'),
      ],
    ],
    [
      'a length of which half comes',
      [`${HTTP}Content-Length: ${ORDER.length * 2}\r\nConnection: close\r\n\r\n`, ORDER],
    ],
  ])('%s ends as an error after at most four tries', async (_, parts) => {
    service.answerRaw(...parts);
    const error = await errorOf(clientOf().orders.create(anOrderOf(), { timeout: 20_000 }));
    expect(error.code === 'network_error' || error.status > 299).toBe(true);
    expect(service.requests.length).toBeLessThanOrEqual(4);
  });
});
