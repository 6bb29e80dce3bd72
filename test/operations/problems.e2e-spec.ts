import { describe, expect, it } from '@jest/globals';
import { type Answer, Client } from '../support/client.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { anOrder } from '../support/factories.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { useService } from '../support/use-service.js';

const KIB = 1024;
const ID = '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10';

const { service, merchant } = useService();
const anyone = new Client(service);

/** Sends a raw body to POST /orders, which can be invalid JSON or invalid UTF-8. */
const order = (raw: string | Buffer, headers: Record<string, string> = {}): Promise<Answer> =>
  merchant.client.send('POST', '/orders', { raw, headers });

describe('unknown paths', () => {
  it.each([
    '/nowhere',
    '/Orders/x/y',
    '/order',
    '/auth',
    '/auth/login/x',
    '/docs/none',
    '/docs/none.css',
    '/.env',
    '/v1/orders',
    '/favicon.ico',
  ])('the unknown path %s returns 404, with or without a token', async (path) => {
    for (const client of [anyone, merchant.client]) {
      const answer = await client.get(path);
      expectProblem(answer, 404, 'route_not_found');
      const meant = path === '/v1/orders' ? '; did you mean "/orders"?' : '';
      expect(answer.body.detail).toBe(`no operation has this path${meant}`);
    }
  });

  it.each([
    ['/orders/', '/orders'],
    ['/v1/orders', '/orders'],
    ['/v2/orders/', '/orders'],
    ['/v1/auth/login', '/auth/login'],
    [`/v1/orders/${ID}/refunds/`, `/orders/${ID}/refunds`],
    ['/orders/by-external-id/PED-1/', '/orders/by-external-id/PED-1'],
    ['/v1/orders/by-external-id/a%2Fb', '/orders/by-external-id/a%2Fb'],
    ['/health/live/?verbose=1', '/health/live'],
  ])('the path %s returns 404 with the question whether %s was meant', async (path, meant) => {
    const answer = await anyone.post(path);
    expectProblem(answer, 404, 'route_not_found');
    expect(answer.body.detail).toBe(`no operation has this path; did you mean "${meant}"?`);
  });

  it.each([
    '/v1',
    '/v1/',
    '/v1/nowhere',
    '/nowhere/',
    '/orders//',
    '/v1/v1/orders',
    '/orders/x/y/',
    '/v1orders',
    '/orders/by-external-id/',
    '/v1/orders/PED-1',
  ])('the unknown path %s returns 404 without a suggestion', async (path) => {
    const answer = await anyone.get(path);
    expectProblem(answer, 404, 'route_not_found');
    expect(answer.body.detail).toBe('no operation has this path');
  });

  it.each([
    '/orders/%',
    '/orders/%ff',
    '/orders/%c3%28',
    '/wallets/%e0%a4%a/entries',
    '/%ff',
    '/docs/%ff',
    '/docs/%00',
    '/docs/..%2f..%2fpackage.json',
  ])('the path %s that cannot be decoded or does not exist returns 404', async (path) => {
    expectProblem(await merchant.client.get(path), 404, 'route_not_found');
  });

  it('a path parameter that cannot be decoded is explained', async () => {
    const answer = await merchant.client.get('/orders/by-external-id/100%');
    expectProblem(answer, 404, 'route_not_found');
    expect(answer.body.detail).toBe('the path must be percent-encoded UTF-8');
  });

  it('the instance of a 404 problem is the path without the query', async () => {
    const answer = await anyone.get('/nowhere/at%20all?document=52998224725');
    expectProblem(answer, 404, 'route_not_found');
    expect(answer.body.instance).toBe('/nowhere/at%20all');
  });

  it('HEAD of an unknown path returns 404 without a body', async () => {
    const answer = await sendBytes(service, aRequest('HEAD /nowhere'));
    expect(answer).toMatchObject({ status: 404, body: '' });
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  });

  it.each([
    '//orders',
    '/orders//x',
    '/orders/../orders/x/y',
    '/\\orders',
    '/orders;x',
    '/orders%2f',
    '*',
    'http://elsewhere/nowhere',
    '/"<script>',
  ])('the raw request target %s returns 404', async (target) => {
    expectProblem(await sendBytes(service, aRequest(`GET ${target}`)), 404, 'route_not_found');
  });
});

describe('unsupported methods', () => {
  it.each([
    ['GET', '/auth/login', 'POST'],
    ['DELETE', '/auth/refresh', 'POST'],
    ['GET', '/auth/logout', 'POST'],
    ['DELETE', '/orders', 'GET, HEAD, POST'],
    ['PUT', '/orders', 'GET, HEAD, POST'],
    ['PATCH', '/orders/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', 'GET, HEAD, PUT'],
    ['POST', '/orders/x/redemption', 'PUT'],
    ['GET', '/orders/x/complete', 'POST'],
    ['PUT', '/wallets/search', 'GET, HEAD, POST'],
    ['POST', '/health/live', 'GET, HEAD'],
    ['OPTIONS', '/orders', 'GET, HEAD, POST'],
  ])('%s %s returns 405 with Allow: %s', async (method, path, allow) => {
    const answer = await anyone.send(method, path);
    expect(answer.headers.get('allow')).toBe(allow);
    expectProblem(answer, 405, 'method_not_allowed');
  });

  it.each(['TRACE', 'PROPFIND', 'PURGE', 'LINK', 'M-SEARCH'])('the method %s returns 405', async (method) => {
    const answer = await sendBytes(service, aRequest(`${method} /auth/login`));
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('allow')).toBe('POST');
  });

  it('any method on an unknown path returns 404', async () => {
    expectProblem(await anyone.send('DELETE', '/nowhere'), 404, 'route_not_found');
    expectProblem(await anyone.send('OPTIONS', '/nowhere'), 404, 'route_not_found');
  });
});

describe('request bodies that are not valid JSON', () => {
  it.each([
    ['truncated JSON', '{"external_id":'],
    ['a bare word', 'hello'],
    ['single quotes', "{'a':1}"],
    ['a trailing comma', '{"a":1,}'],
    ['two documents', '{}{}'],
    ['a comment', '{} // end'],
    ['NaN', '{"total":NaN}'],
    ['a raw control character in a string', '{"external_id":"a\nb"}'],
    ['only spaces', '   '],
    ['a NUL', '\0'],
    ['an unknown escape', '{"a":"\\x41"}'],
  ])('POST /orders returns malformed_json for %s in the body', async (_, raw) => {
    expectProblem(await order(raw), 400, 'malformed_json');
  });

  it.each([
    ['a lone continuation byte', Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0x80, 0x22, 0x7d])],
    ['ISO 8859-1', Buffer.from('{"external_id":"caf\xe9"}', 'latin1')],
    ['an overlong slash', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    [
      'an encoded surrogate',
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ['UTF-16', Buffer.from('{"a":"\u{1f600}é"}', 'utf16le')],
  ])('POST /orders returns malformed_json for a body with invalid UTF-8: %s', async (_, raw) => {
    expectProblem(await order(raw), 400, 'malformed_json');
  });

  it.each([
    ['arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['objects', '{"a":'.repeat(40_000) + '1' + '}'.repeat(40_000)],
    ['unknown members', `{"unknown":${'[{"a":'.repeat(30_000)}1${'}]'.repeat(30_000)}}`],
  ])('POST /orders returns validation_failed for deeply nested %s', async (_, raw) => {
    expectProblem(await order(raw), 400, 'validation_failed');
  });

  it('POST /orders returns malformed_json for a hundred thousand open arrays', async () => {
    const raw = '['.repeat(100_000);
    expectProblem(await order(raw), 400, 'malformed_json');
  });

  it('POST /orders does not count brackets inside strings as nesting', async () => {
    const { status } = await order(
      JSON.stringify(anOrder({ items: [{ id: 'a', price: '1', description: `\\"${'['.repeat(400)}\\` }] })),
    );
    expect(status).toBe(201);
  });

  it.each(['"text"', '1', 'true', 'null', '[]', '[{}]'])(
    'POST /orders returns one error for the body as a whole when it is %s',
    async (raw) => {
      const answer = await order(raw);
      expectProblem(answer, 400, 'validation_failed');
      expect(pointersOf(answer)).toEqual(['']);
    },
  );

  it('POST /orders accepts a byte order mark before the JSON', async () => {
    expect((await order(`\ufeff${JSON.stringify(anOrder())}`)).status).toBe(201);
  });

  it.each([undefined, '0'])(
    'POST /orders with an empty body (content-length %j) returns an error for each required member',
    async (length) => {
      const headers = {
        'content-length': length,
        authorization: `Bearer ${merchant.tokens.access_token}`,
        'content-type': 'application/json',
      };
      const answer = await sendBytes(service, aRequest('POST /orders', headers));
      expectProblem(answer, 400, 'validation_failed');
      expect(pointersOf(answer)).toEqual(['/document', '/external_id', '/items', '/total']);
    },
  );
});

describe('media types, charsets, and encodings', () => {
  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonx',
    'application/vnd.api+json',
    'json',
    '',
    'application/json, text/plain',
    '*/*',
    ';;;',
  ])('POST /orders returns 415 for the media type %j', async (type) => {
    expectProblem(await order(JSON.stringify(anOrder()), { 'content-type': type }), 415, 'unsupported_media_type');
  });

  it('POST /orders returns 415 without a media type', async () => {
    const headers = { authorization: `Bearer ${merchant.tokens.access_token}` };
    expectProblem(await sendBytes(service, aRequest('POST /orders', headers, '{}')), 415, 'unsupported_media_type');
  });

  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
    'application/json; profile=x',
  ])('POST /orders accepts the media type %s', async (type) => {
    expect((await order(JSON.stringify(anOrder()), { 'content-type': type })).status).toBe(201);
  });

  it.each(['iso-8859-1', 'utf-16', 'utf-16le', 'utf-32', 'utf-7', 'us-ascii', 'klingon', 'x=utf-8', ''])(
    'POST /orders returns 415 for the charset %j',
    async (charset) => {
      expectProblem(
        await order(JSON.stringify(anOrder()), { 'content-type': `application/json; charset=${charset}` }),
        415,
        'unsupported_media_type',
      );
    },
  );

  it('POST /orders rejects UTF-7, which could hide deep nesting', async () => {
    const utf7 = `{"a":${`+${Buffer.from('[', 'utf16le').swap16().toString('base64').replace(/=+$/, '')}-`.repeat(20_000)}`;
    expectProblem(
      await order(utf7, { 'content-type': 'application/json; charset=utf-7' }),
      415,
      'unsupported_media_type',
    );
  });

  it.each(['gzip', 'deflate', 'br', 'zip', 'gzip, gzip', 'compress', 'identity, gzip'])(
    'POST /orders and POST /auth/login return 415 for the content-encoding %s, because bodies must not be compressed',
    async (encoding) => {
      const raw = JSON.stringify(anOrder());
      for (const path of ['/orders', '/auth/login']) {
        const answer = await merchant.client.send('POST', path, { raw, headers: { 'content-encoding': encoding } });
        expectProblem(answer, 415, 'unsupported_media_type');
        expect(answer.headers.get('accept-encoding')).toBe('identity');
      }
    },
  );

  it('POST /orders accepts the content-encoding identity', async () => {
    expect((await order(JSON.stringify(anOrder()), { 'content-encoding': 'Identity' })).status).toBe(201);
  });
});

describe('large request bodies', () => {
  const ofBytes = (bytes: number): string => {
    const body = JSON.stringify(anOrder());
    return body + ' '.repeat(bytes - Buffer.byteLength(body));
  };

  it('POST /orders accepts a body of exactly 256 KiB and returns 413 for one byte more', async () => {
    expect((await order(ofBytes(256 * KIB))).status).toBe(201);
    expectProblem(await order(ofBytes(256 * KIB + 1)), 413, 'payload_too_large');
  });

  it('POST /auth/login returns 413 for a chunked body that exceeds the limit', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const headers = { 'content-length': undefined, 'transfer-encoding': 'chunked', 'content-type': 'application/json' };
    expectProblem(
      await sendBytes(service, aRequest('POST /auth/login', headers, `${chunk.repeat(5)}0\r\n\r\n`)),
      413,
      'payload_too_large',
    );
  });

  it('POST /auth/login returns 413 for a large Content-Length before the body arrives', async () => {
    const headers = { 'content-length': '99999999999', 'content-type': 'application/json' };
    expectProblem(await sendBytes(service, aRequest('POST /auth/login', headers, '{}')), 413, 'payload_too_large');
  });
});

describe('chunked request bodies', () => {
  const chunked = (body: string): Promise<Answer> =>
    sendBytes(
      service,
      aRequest(
        'POST /auth/login',
        { 'content-length': undefined, 'transfer-encoding': 'chunked', 'content-type': 'application/json' },
        body,
      ),
    );

  it('POST /auth/login reads a chunked body', async () => {
    const pieces = JSON.stringify({ email: merchant.email, password: merchant.password }).match(/.{1,7}/g) ?? [];
    const body = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');
    expect((await chunked(`${body}0\r\n\r\n`)).status).toBe(201);
  });

  it('POST /auth/login with an empty chunked body returns 400', async () => {
    expectProblem(await chunked('0\r\n\r\n'), 400, 'validation_failed');
  });
});
